# case: clean_fourth_root_power expect: clean
# proved: yes
import torch
from torch import Tensor, nn


class AudioHeads(nn.Module):
    def __init__(self, width: int, ears: int):
        super().__init__()
        self.ears = ears
        self.hear = nn.Linear(width, width)
        self.tone = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width)

    def forward(self, frames: Tensor) -> Tensor:
        q, k, v = self.hear(frames), self.tone(frames), self.value(frames)
        n_batch, n_ctx, width = q.shape
        quarter = (width // self.ears) ** -0.25
        q = q.view(*q.shape[:2], self.ears, -1).permute(0, 2, 1, 3) * quarter
        k = k.view(*k.shape[:2], self.ears, -1).permute(0, 2, 3, 1) * quarter
        v = v.view(*v.shape[:2], self.ears, -1).permute(0, 2, 1, 3)
        w = torch.softmax((q @ k).float(), dim=-1).to(q.dtype)
        return (w @ v).permute(0, 2, 1, 3).flatten(start_dim=2)
