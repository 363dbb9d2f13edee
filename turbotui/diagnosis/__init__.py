"""Why a machine is slow: rules over frames, what holds packages back, and findings in sentences."""
