"""Why a machine is slow: rules over frames, limits of packages, and findings in sentences."""
