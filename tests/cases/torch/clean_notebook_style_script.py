# case: clean_notebook_style_script expect: clean
# proved: yes
import torch
import torch.nn.functional as F

torch.manual_seed(1)
batch, tokens, channels = 4, 12, 32
head_size = 16
x = torch.randn(batch, tokens, channels)

key = torch.nn.Linear(channels, head_size, bias=False)
query = torch.nn.Linear(channels, head_size, bias=False)
value = torch.nn.Linear(channels, head_size, bias=False)
k, q, v = key(x), query(x), value(x)

wei = q @ k.transpose(-2, -1) * head_size**-0.5
tril = torch.tril(torch.ones(tokens, tokens))
wei = wei.masked_fill(tril == 0, float("-inf"))
wei = F.softmax(wei, dim=-1)
out = wei @ v
print(out.shape)
