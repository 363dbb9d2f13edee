"""From readers to frames: census, plan, workers, sampler, snapshots, frames, history, bus."""
