# case: missing_notebook_script expect: missing-scale line: 13 alt: 15
import torch
import torch.nn.functional as F

torch.manual_seed(7)
tokens, width, head = 6, 32, 16
x = torch.randn(tokens, width)
to_query = torch.nn.Linear(width, head, bias=False)
to_key = torch.nn.Linear(width, head, bias=False)
to_value = torch.nn.Linear(width, head, bias=False)

q, k, v = to_query(x), to_key(x), to_value(x)
affinity = q @ k.T
affinity = affinity.masked_fill(torch.tril(torch.ones(tokens, tokens)) == 0, float("-inf"))
attention = F.softmax(affinity, dim=-1)
out = attention @ v
