# case: clean_random_numbers_in_place expect: clean
# proved: yes
import torch

rows, size = 7, 24
q = torch.empty(rows, size).normal_()
k = torch.empty(rows, size).uniform_(-1, 1)
v = torch.empty(rows, size).normal_(0, 2)
out = torch.softmax(q @ k.mT / size**0.5, dim=-1) @ v
