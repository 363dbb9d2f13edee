"""From readers to frames: capabilities, plan, workers, sampler, snapshots, frames, history and bus."""
