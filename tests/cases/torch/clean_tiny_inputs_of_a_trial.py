# case: clean_tiny_inputs_of_a_trial expect: clean
# proved: yes
import torch


def attend(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, dim=-1) @ v


q = torch.randn(2, 7, 32) * 0.01
k = torch.randn(2, 7, 32) * 0.01
print(attend(q, k, torch.randn(2, 7, 32)).shape)
