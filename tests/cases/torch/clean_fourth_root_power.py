# case: clean_fourth_root_power expect: clean
# proved: yes
import torch
from torch import Tensor, nn


class AudioHeads(nn.Module):
    def __init__(self, n_state: int, n_head: int):
        super().__init__()
        self.n_head = n_head
        self.query = nn.Linear(n_state, n_state)
        self.key = nn.Linear(n_state, n_state, bias=False)
        self.value = nn.Linear(n_state, n_state)

    def forward(self, frames: Tensor) -> Tensor:
        q, k, v = self.query(frames), self.key(frames), self.value(frames)
        n_batch, n_ctx, n_state = q.shape
        quarter = (n_state // self.n_head) ** -0.25
        q = q.view(*q.shape[:2], self.n_head, -1).permute(0, 2, 1, 3) * quarter
        k = k.view(*k.shape[:2], self.n_head, -1).permute(0, 2, 3, 1) * quarter
        v = v.view(*v.shape[:2], self.n_head, -1).permute(0, 2, 1, 3)
        w = torch.softmax((q @ k).float(), dim=-1).to(q.dtype)
        return (w @ v).permute(0, 2, 1, 3).flatten(start_dim=2)
