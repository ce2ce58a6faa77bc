"""Speed, always as ratios measured in one run."""
