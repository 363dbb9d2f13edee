"""Tables as text, CSV, JSON and OpenMetrics."""
