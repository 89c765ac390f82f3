"""The confirmation: a finding is run before and after its fix."""
