"""Features: one folder each, which registers what it adds by a `FEATURE`; `turbotui.feature_list` has them all."""
