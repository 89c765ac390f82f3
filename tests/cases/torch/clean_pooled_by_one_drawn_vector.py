# case: clean_pooled_by_one_drawn_vector expect: clean
import torch

x = torch.randn(4, 9, 32)
probe = torch.randn(32, 1) * 0.05
weights = torch.softmax(x @ probe, dim=1)
print((x * weights).sum(dim=1).shape)
