"""Attention modules written many ways, right and wrong, each with what the probe must find. All sizes differ from one another."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

B, H, T, S, D = 3, 5, 14, 9, 12
C = H * D
KV = 1


@dataclass
class Case:
    name: str
    make: Callable[[], nn.Module]
    ratio: float | None = 1.0
    status: str = "ok"
    kind: str | None = None
    head_dim: int | None = D
    calls: int = 1
    sites: int = 1
    inputs: Callable[[], tuple[Any, ...]] = lambda: (torch.randn(B, T, C),)
    regressed: bool = True
    extra: dict[str, Any] = field(default_factory=dict)


CASES: list[Case] = []


def case(ratio: float | None = 1.0, kind: str | None = None, status: str | None = None, **more: Any) -> Callable[[type], type]:
    def add(cls: type) -> type:
        verdict = status or ("fault" if kind else "ok")
        CASES.append(Case(cls.__name__, cls, ratio, verdict, kind, **more))
        return cls

    return add


class Base(nn.Module):
    """Projections and heads; subclasses say how to attend."""

    def __init__(self) -> None:
        super().__init__()
        self.n_heads, self.head_dim = H, D
        self.q, self.k, self.v, self.out = (nn.Linear(C, C) for _ in range(4))
        # Sharper than the default, so that a wrong scale shows in the weights too.
        for layer in (self.q, self.k):
            nn.init.normal_(layer.weight, std=C**-0.5)

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(x.shape[0], x.shape[1], self.n_heads, self.head_dim).transpose(1, 2)

    def merge(self, x: torch.Tensor) -> torch.Tensor:
        return x.transpose(1, 2).reshape(x.shape[0], -1, C)

    def forward(self, x: torch.Tensor, memory: torch.Tensor | None = None) -> torch.Tensor:
        memory = x if memory is None else memory
        return self.out(self.merge(self.attend(self.split(self.q(x)), self.split(self.k(memory)), self.split(self.v(memory)))))

    def attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


def causal(t: int = T) -> torch.Tensor:
    return torch.ones(t, t, dtype=torch.bool).tril()


# --- right -------------------------------------------------------------------------------------------------------------------


@case()
class Plain(Base):
    def attend(self, q, k, v):
        return ((q @ k.transpose(-2, -1)) / math.sqrt(D)).softmax(-1) @ v


@case(inputs=lambda: (torch.randn(B, T, C), torch.randn(B, S, C)))
class CrossAttention(Base):
    def attend(self, q, k, v):
        return torch.softmax(torch.matmul(q, k.mT) * D**-0.5, dim=-1) @ v


@case()
class ScaledQuery(Base):
    def attend(self, q, k, v):
        return ((q * D**-0.5) @ k.mT).softmax(-1) @ v


@case()
class ScaledKeyAfterTranspose(Base):
    def attend(self, q, k, v):
        return (q @ (k.mT / math.sqrt(D))).softmax(-1) @ v


@case()
class QuarterPowers(Base):
    def attend(self, q, k, v):
        return ((q * D**-0.25) @ (k * D**-0.25).mT).softmax(-1) @ v


@case()
class InPlaceQuery(Base):
    def forward(self, x):
        with torch.no_grad():
            q = self.q(x)
            q *= D**-0.5
            q, k, v = self.split(q), self.split(self.k(x)), self.split(self.v(x))
            return self.out(self.merge((q @ k.mT).softmax(-1) @ v))


@case()
class InPlaceScores(Base):
    def attend(self, q, k, v):
        scores = q @ k.mT
        scores /= D**0.5
        scores += torch.zeros(T, T).masked_fill(~causal(), float("-inf"))
        return scores.softmax(-1) @ v


@case()
class ScaleBuffer(Base):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.tensor(D**-0.5))

    def attend(self, q, k, v):
        return (q @ k.mT * self.scale).softmax(-1) @ v


@case()
class TensorRoot(Base):
    def attend(self, q, k, v):
        return (q @ k.mT / torch.sqrt(torch.tensor(float(k.size(-1))))).softmax(-1) @ v


@case()
class EinsumHeadsInPlace(Base):
    def forward(self, x):
        q, k, v = (layer(x).view(B, T, H, D) for layer in (self.q, self.k, self.v))
        energy = torch.einsum("bqhd,bkhd->bhqk", q, k)
        return self.out(torch.einsum("bhqk,bkhd->bqhd", torch.softmax(energy / D**0.5, 3), v).reshape(B, T, C))


@case()
class EinsumKeysFirst(Base):
    def attend(self, q, k, v):
        logits = torch.einsum("bhqd,bhkd->bhkq", q, k) * D**-0.5
        return torch.einsum("bhkq,bhkd->bhqd", logits.softmax(dim=2), v)


@case()
class BatchedMatmul(Base):
    def attend(self, q, k, v):
        q, k, v = (t.reshape(B * H, T, D) for t in (q, k, v))
        return torch.bmm(F.softmax(torch.bmm(q, k.transpose(1, 2)) / math.sqrt(D), -1), v).view(B, H, T, D)


@case()
class BaddbmmAlpha(Base):
    def attend(self, q, k, v):
        q, k, v = (t.reshape(B * H, T, D) for t in (q, k, v))
        buffer = torch.empty(B * H, T, T)
        scores = torch.baddbmm(buffer, q, k.transpose(1, 2), beta=0.0, alpha=D**-0.5)
        return torch.bmm(scores.softmax(-1), v).view(B, H, T, D)


@case()
class BaddbmmBias(Base):
    def attend(self, q, k, v):
        q, k, v = (t.reshape(B * H, T, D) for t in (q, k, v))
        scores = torch.baddbmm(torch.randn(1, 1, T), q, k.transpose(1, 2), beta=1, alpha=D**-0.5)
        return torch.bmm(scores.softmax(-1), v).view(B, H, T, D)


@case()
class MaskedFill(Base):
    def attend(self, q, k, v):
        scores = (q @ k.mT / math.sqrt(D)).masked_fill(causal() == 0, -1e9)
        return F.softmax(scores, -1) @ v


@case()
class MaskBeforeScale(Base):
    def attend(self, q, k, v):
        return (q @ k.mT).masked_fill(~causal(), float("-inf")).mul(D**-0.5).softmax(-1) @ v


@case()
class SmallNegativeFill(Base):
    def attend(self, q, k, v):
        return (q @ k.mT / math.sqrt(D)).masked_fill(~causal(), -1000.0).softmax(-1) @ v


@case()
class WhereMask(Base):
    def attend(self, q, k, v):
        return torch.where(causal(), q @ k.mT / math.sqrt(D), torch.finfo(q.dtype).min).softmax(-1) @ v


@case()
class IndexedMask(Base):
    def attend(self, q, k, v):
        scores = q @ k.mT / math.sqrt(D)
        scores[~causal().expand(B, H, T, T)] = float("-inf")
        return scores.softmax(-1) @ v


@case()
class MaskByIndices(Base):
    def attend(self, q, k, v):
        scores = q @ k.mT / math.sqrt(D)
        row, column = torch.triu_indices(T, T, 1)
        scores[..., row, column] = -1e9
        return scores.softmax(-1) @ v


@case()
class SlicedMask(Base):
    def attend(self, q, k, v):
        scores = q @ k.mT / math.sqrt(D)
        scores[..., -3:] = -float("inf")
        return scores.softmax(-1) @ v


@case()
class AdditiveMask(Base):
    def attend(self, q, k, v):
        return (q @ k.mT / math.sqrt(D) + (1.0 - causal().float()) * -10000.0).softmax(-1) @ v


@case()
class TrilThenInfinity(Base):
    def attend(self, q, k, v):
        scores = torch.tril(q @ k.mT / math.sqrt(D))
        return scores.masked_fill(scores == 0, -float("inf")).softmax(-1) @ v


@case()
class LearnedBias(Base):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(H, T, T))

    def attend(self, q, k, v):
        return (q @ k.mT * D**-0.5 + self.bias).softmax(-1) @ v


@case()
class BucketBias(Base):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(2 * T, H)

    def attend(self, q, k, v):
        distance = torch.arange(T)[:, None] - torch.arange(T)[None] + T
        return (q @ k.mT * D**-0.5 + self.table(distance).permute(2, 0, 1)).softmax(-1) @ v


@case()
class Alibi(Base):
    def attend(self, q, k, v):
        slopes = 2.0 ** -torch.arange(1, H + 1)
        distance = torch.arange(T)[None] - torch.arange(T)[:, None]
        return (q @ k.mT / D**0.5 + slopes[:, None, None] * distance).masked_fill(~causal(), -torch.inf).softmax(-1) @ v


def rope_tables(factor: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    angle = torch.arange(T)[:, None] * 10000 ** (-torch.arange(0, D, 2) / D)
    angle = torch.cat([angle, angle], -1)
    return angle.cos() * factor, angle.sin() * factor


def rotate(x: torch.Tensor) -> torch.Tensor:
    a, b = x.chunk(2, -1)
    return torch.cat([-b, a], -1)


@case()
class Rope(Base):
    def attend(self, q, k, v):
        cos, sin = rope_tables()
        q = q * D**-0.5
        q, k = q * cos + rotate(q) * sin, k * cos + rotate(k) * sin
        return (q @ k.mT).softmax(-1) @ v


@case()
class RopeInterleaved(Base):
    def attend(self, q, k, v):
        angle = torch.arange(T)[:, None] * 10000 ** (-torch.arange(0, D, 2) / D)

        def turn(x):
            even, odd = x[..., ::2], x[..., 1::2]
            return torch.stack([even * angle.cos() - odd * angle.sin(), even * angle.sin() + odd * angle.cos()], -1).flatten(-2)

        return (turn(q * D**-0.25) @ turn(k * D**-0.25).mT).softmax(-1) @ v


@case()
class RopeComplex(Base):
    def attend(self, q, k, v):
        angle = torch.arange(T)[:, None] * 10000 ** (-torch.arange(0, D, 2) / D)
        turn = torch.polar(torch.ones_like(angle), angle)

        def rotated(x):
            return torch.view_as_real(torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2)) * turn).flatten(-2)

        return (rotated(q / D**0.5) @ rotated(k).mT).softmax(-1) @ v


@case()
class RopePartial(Base):
    def attend(self, q, k, v):
        half = D // 2
        angle = torch.arange(T)[:, None] * 10000 ** (-torch.arange(0, half, 2) / half)
        cos, sin = torch.cat([angle, angle], -1).cos(), torch.cat([angle, angle], -1).sin()

        def turn(x):
            a, b = x[..., :half], x[..., half:]
            return torch.cat([a * cos + rotate(a) * sin, b], -1)

        return (turn(q) @ turn(k).mT * D**-0.5).softmax(-1) @ v


@case()
class RopeWrittenInPlace(Base):
    def attend(self, q, k, v):
        angle = torch.arange(T)[:, None] * 10000 ** (-torch.arange(0, D, 2) / D)
        q = q * D**-0.5

        def turn(x):
            out = torch.empty(x.shape)
            out[..., ::2] = x[..., ::2] * angle.cos() - x[..., 1::2] * angle.sin()
            out[..., 1::2] = x[..., ::2] * angle.sin() + x[..., 1::2] * angle.cos()
            return out

        return (turn(q) @ turn(k).mT).softmax(-1) @ v


@case(ratio=1.1**2, kind="constant-scale")
class YarnTables(Base):
    def attend(self, q, k, v):
        cos, sin = rope_tables(1.1)
        q, k = q * cos + rotate(q) * sin, k * cos + rotate(k) * sin
        return (q @ k.mT * D**-0.5).softmax(-1) @ v


@case()
class GroupedQueriesRepeat(Base):
    def attend(self, q, k, v):
        k, v = k[:, :1].repeat_interleave(H, 1), v[:, :1].repeat_interleave(H, 1)
        return (q @ k.mT / math.sqrt(D)).softmax(-1) @ v


@case()
class GroupedQueriesExpand(Base):
    def attend(self, q, k, v):
        k, v = (t[:, :1, None].expand(B, 1, H, T, D).reshape(B, H, T, D) for t in (k * D**-0.5, v))
        return (q @ k.mT).softmax(-1) @ v


@case()
class GroupedScaledKeysRepeat(Base):
    def attend(self, q, k, v):
        k, v = (k * D**-0.5)[:, :1].repeat(1, H, 1, 1), v[:, :1].repeat_interleave(H, 1)
        return (q @ k.mT).softmax(-1) @ v


@case()
class MultiQueryBroadcast(Base):
    def attend(self, q, k, v):
        return torch.einsum("bhij,bjd->bhid", (torch.einsum("bhid,bjd->bhij", q, k[:, 0]) * D**-0.5).softmax(-1), v[:, 0])


@case()
class FusedDefault(Base):
    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v)


@case()
class FusedCausal(Base):
    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@case()
class FusedMaskAndScale(Base):
    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=causal(), scale=D**-0.5)


@case()
class FusedGrouped(Base):
    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q, k[:, :1], v[:, :1], enable_gqa=True)


@case()
class FusedUnitScaleOfScaledQuery(Base):
    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q * D**-0.5, k, v, scale=1.0)


@case()
class FusedMath(Base):
    def attend(self, q, k, v):
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@case()
class FusedLearnedBias(Base):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(H, T, T))

    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=self.bias)


@case()
class FusedInTraining(Base):
    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, dropout_p=0.2)


@case()
class DropoutOnWeights(Base):
    def attend(self, q, k, v):
        return F.dropout((q @ k.mT / math.sqrt(D)).softmax(-1), 0.3, training=True) @ v


@case()
class DropoutByHand(Base):
    def attend(self, q, k, v):
        w = (q @ k.mT / math.sqrt(D)).softmax(-1)
        return (w * (torch.rand_like(w) > 0.3).float() / 0.7) @ v


@case()
class SinkColumn(Base):
    def __init__(self):
        super().__init__()
        self.sinks = nn.Parameter(torch.randn(H))

    def attend(self, q, k, v):
        scores = torch.cat([q @ k.mT * D**-0.5, self.sinks.view(1, H, 1, 1).expand(B, H, T, 1)], -1)
        return scores.softmax(-1)[..., :-1] @ v


@case()
class SoftCapped(Base):
    def attend(self, q, k, v):
        scores = q @ k.mT * D**-0.5
        return (torch.tanh(scores / 5.0) * 5.0).softmax(-1) @ v


@case()
class HandWrittenSoftmax(Base):
    def attend(self, q, k, v):
        scores = q @ k.mT / math.sqrt(D)
        e = torch.exp(scores - scores.max(-1, keepdim=True).values)
        return (e / e.sum(-1, keepdim=True)) @ v


@case()
class SumAfterValues(Base):
    def attend(self, q, k, v):
        e = torch.exp(q @ k.mT / math.sqrt(D))
        return (e @ v) / e.sum(-1, keepdim=True)


@case()
class LogSoftmaxThenExp(Base):
    def attend(self, q, k, v):
        return F.log_softmax(q @ k.mT * D**-0.5, -1).exp() @ v


@case()
class LogSumExp(Base):
    def attend(self, q, k, v):
        scores = q @ k.mT * D**-0.5
        return torch.exp(scores - torch.logsumexp(scores, -1, keepdim=True)) @ v


@case()
class BroadcastProductAndSum(Base):
    def attend(self, q, k, v):
        scores = (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1) / math.sqrt(D)
        return (scores.softmax(-1).unsqueeze(-1) * v.unsqueeze(-3)).sum(-2)


@case(calls=H, regressed=True)
class HeadsInALoop(Base):
    def attend(self, q, k, v):
        heads = []
        for h in range(H):
            scores = q[:, h] @ k[:, h].mT / math.sqrt(D)
            heads.append(scores.softmax(-1) @ v[:, h])
        return torch.stack(heads, 1)


@case(head_dim=C, inputs=lambda: (torch.randn(T, C),))
class SingleHeadTwoAxes(Base):
    def forward(self, x):
        return self.out(F.softmax(self.q(x) @ self.k(x).T / x.shape[-1] ** 0.5, dim=1) @ self.v(x))


@case(regressed=False, inputs=lambda: (torch.randn(6, C),), head_dim=C)
class ScalarLoops(Base):
    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        scores = torch.zeros(6, 6)
        for i in range(6):
            for j in range(6):
                scores[i, j] = torch.dot(q[i], k[j]) / math.sqrt(C)
        return scores.softmax(-1) @ v


@case()
class PackedProjection(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(C, 3 * C)

    def forward(self, x):
        q, k, v = self.qkv(x).reshape(B, T, 3, H, D).permute(2, 0, 3, 1, 4).unbind(0)
        return ((q * D**-0.5) @ k.transpose(-2, -1)).softmax(-1) @ v


@case()
class Conv1x1(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Conv1d(C, C, 1) for _ in range(3))

    def forward(self, x):
        q, k, v = (layer(x.mT).view(B, H, D, T) for layer in (self.q, self.k, self.v))
        w = torch.einsum("bhdi,bhdj->bhij", q, k).div(D**0.5).softmax(-1)
        return torch.einsum("bhij,bhdj->bhdi", w, v)


@case()
class Windowed(Base):
    def forward(self, x):
        w = T // 2
        q, k, v = (layer(x).view(B * 2, w, H, D).transpose(1, 2) for layer in (self.q, self.k, self.v))
        scores = (q * D**-0.5) @ k.mT
        mask = torch.zeros(2, w, w)
        mask[1, :, :2] = -100.0
        scores = scores.view(B, 2, H, w, w) + mask.unsqueeze(1).unsqueeze(0)
        return scores.view(-1, H, w, w).softmax(-1) @ v


@case()
class QueryKeyNorm(Base):
    def __init__(self):
        super().__init__()
        self.qn, self.kn = nn.RMSNorm(D), nn.RMSNorm(D)

    def attend(self, q, k, v):
        return (self.qn(q) @ self.kn(k).mT * D**-0.5).softmax(-1) @ v


@case(ratio=D**0.5, status="skipped")
class QueryKeyNormUnscaled(QueryKeyNorm):
    def attend(self, q, k, v):
        return (self.qn(q) @ self.kn(k).mT).softmax(-1) @ v


@case(ratio=2 * D**0.5, status="skipped")
class QueryKeyLayerNorm(Base):
    def attend(self, q, k, v):
        return (F.layer_norm(q, (D,)) @ F.layer_norm(k, (D,)).mT * 2).softmax(-1) @ v


@case(ratio=10 * D**0.5, status="skipped")
class CosineFixed(Base):
    def attend(self, q, k, v):
        return (F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT * 10.0).softmax(-1) @ v


@case(ratio=None, status="skipped")
class CosineLearned(Base):
    def __init__(self):
        super().__init__()
        self.logit_scale = nn.Parameter(torch.full((H, 1, 1), math.log(10.0)))

    def attend(self, q, k, v):
        scale = torch.clamp(self.logit_scale, max=math.log(100.0)).exp()
        return (F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT * scale).softmax(-1) @ v


@case(ratio=8 * D**0.5, status="skipped")
class CosineByHand(Base):
    def attend(self, q, k, v):
        q = q / q.norm(dim=-1, keepdim=True)
        k = k * torch.rsqrt((k * k).sum(-1, keepdim=True) + 1e-6)
        return (q @ k.mT * 8).softmax(-1) @ v


@case(ratio=None, status="skipped")
class LearnedTemperature(Base):
    def __init__(self):
        super().__init__()
        self.temperature = nn.Parameter(torch.ones(1))

    def attend(self, q, k, v):
        return (q @ k.mT * self.temperature).softmax(-1) @ v


@case()
class TransformerXl(Base):
    def __init__(self):
        super().__init__()
        self.r, self.u, self.w = nn.Linear(C, C), nn.Parameter(torch.randn(H, 1, D)), nn.Parameter(torch.randn(H, 1, D))

    def attend(self, q, k, v):
        r = self.r(torch.randn(1, T, C)).view(1, T, H, D).transpose(1, 2)
        content, position = (q + self.u) @ k.mT, (q + self.w) @ r.mT
        shifted = F.pad(position, (1, 0)).view(B, H, T + 1, T)[:, :, 1:].reshape(B, H, T, T)
        return ((content + shifted) / math.sqrt(D)).softmax(-1) @ v


@case(head_dim=D + 4)
class SplitHeads(Base):
    def __init__(self):
        super().__init__()
        self.qr, self.kr = nn.Linear(C, H * 4), nn.Linear(C, 4)

    def forward(self, x):
        q, k, v = (self.split(layer(x)) for layer in (self.q, self.k, self.v))
        qr, kr = self.qr(x).view(B, T, H, 4).transpose(1, 2), self.kr(x).view(B, T, 1, 4).transpose(1, 2)
        scores = (q @ k.mT + qr @ kr.mT) * (D + 4) ** -0.5
        return scores.softmax(-1) @ v


@case()
class Disentangled(Base):
    def attend(self, q, k, v):
        position = torch.randn(1, H, T, D)
        index = torch.arange(T).flip(0).expand(B, H, T, T)
        factor = 1 / math.sqrt(3 * D)
        c2c = q @ k.mT / math.sqrt(D)
        c2p = torch.gather(q @ position.mT * factor, -1, index)
        p2c = torch.gather(k @ position.mT * factor, -1, index).mT
        return (c2c + c2p + p2c).softmax(-1) @ v


@case()
class MultiheadModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(C, H, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x)[0]


@case()
class MultiheadNoWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(C, H, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x, need_weights=False)[0]


@case(calls=3)
class CalledThreeTimes(Base):
    def forward(self, x):
        for _ in range(3):
            x = super().forward(x)
        return x

    def attend(self, q, k, v):
        return (q @ k.mT / math.sqrt(D)).softmax(-1) @ v


@case(sites=2)
class TwoLayers(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Plain(), ScaledQuery()

    def forward(self, x):
        return self.b(self.a(x))


@case()
class TalkingAfterwards(Base):
    def __init__(self):
        super().__init__()
        self.mix = nn.Parameter(torch.eye(H) + 0.1 * torch.randn(H, H))

    def attend(self, q, k, v):
        w = (q @ k.mT * D**-0.5).softmax(-1)
        return torch.einsum("bhij,hg->bgij", w, self.mix) @ v


@case(regressed=False)
class TalkingBefore(Base):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(H, H)

    def attend(self, q, k, v):
        scores = self.mix((q @ k.mT * D**-0.5).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return scores.softmax(-1) @ v


@case()
class MaskedAgainHarmlessly(Base):
    def attend(self, q, k, v):
        mask = ~causal()
        w = (q @ k.mT * D**-0.5).masked_fill(mask, float("-inf")).softmax(-1)
        return w.masked_fill(mask, 0.0) @ v


@case()
class Renormalised(Base):
    def attend(self, q, k, v):
        w = (q @ k.mT * D**-0.5).softmax(-1) * causal()
        return (w / w.sum(-1, keepdim=True)) @ v


@case()
class RenormalisedAfterAFactor(Base):
    """A factor on the weights that their own sum takes out again."""

    def attend(self, q, k, v):
        w = (q @ k.mT * D**-0.5).softmax(-1) * D**-0.5
        return (w / w.sum(-1, keepdim=True)) @ v


@case()
class RenormalisedFill(Base):
    def attend(self, q, k, v):
        w = (q @ k.mT * D**-0.5).softmax(-1).masked_fill(~causal(), 0.0)
        return (w / w.sum(-1, keepdim=True)) @ v


@case(head_dim=8, inputs=lambda: (torch.randn(B, T, C),))
class LearnedLatents(nn.Module):
    def __init__(self):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(1, S, C))
        self.q, self.k, self.v = nn.Linear(C, 8), nn.Linear(C, 8), nn.Linear(C, 16)

    def forward(self, x):
        q = self.q(self.latents)
        return (q @ self.k(x).mT * 8**-0.5).softmax(-1) @ self.v(x)


@case()
class KeyValueCache(Base):
    def attend(self, q, k, v):
        past_k, past_v = torch.empty(B, H, 0, D), torch.empty(B, H, 0, D)
        k, v = torch.cat([past_k, k * D**-0.5], 2), torch.cat([past_v, v], 2)
        return (q @ k.mT).softmax(-1) @ v


@case()
class StaticCache(Base):
    def attend(self, q, k, v):
        cache = torch.zeros(B, H, 2 * T, D)
        cache[:, :, :T] = k * D**-0.5
        return (q @ cache[:, :, :T].mT).softmax(-1) @ v


# --- wrong -------------------------------------------------------------------------------------------------------------------

root = math.sqrt(D)


@case(ratio=root, kind="missing-scale")
class Missing(Base):
    def attend(self, q, k, v):
        return (q @ k.mT).softmax(-1) @ v


@case(ratio=root, kind="missing-scale")
class MissingFused(Base):
    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, scale=1.0)


@case(ratio=root, kind="missing-scale")
class MissingUnderRope(Base):
    def attend(self, q, k, v):
        cos, sin = rope_tables()
        return ((q * cos + rotate(q) * sin) @ (k * cos + rotate(k) * sin).mT).masked_fill(~causal(), -torch.inf).softmax(-1) @ v


@case(ratio=H**-0.5, kind="wrong-dim-scale")
class WholeWidth(Base):
    def attend(self, q, k, v):
        return (q @ k.mT / math.sqrt(C)).softmax(-1) @ v


@case(ratio=H**-0.5, kind="wrong-dim-scale")
class WholeWidthFused(Base):
    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, scale=C**-0.5)


@case(ratio=math.sqrt(D / T), kind="wrong-dim-scale")
class SequenceLength(Base):
    def attend(self, q, k, v):
        return (q @ k.mT / math.sqrt(q.shape[-2])).softmax(-1) @ v


@case(ratio=math.sqrt(D / H), kind="wrong-dim-scale")
class HeadCount(Base):
    def attend(self, q, k, v):
        return (q @ k.mT / math.sqrt(H)).softmax(-1) @ v


@case(ratio=1 / root, kind="unrooted-scale")
class OverD(Base):
    def attend(self, q, k, v):
        return (q @ k.mT / D).softmax(-1) @ v


@case(ratio=D**0.25, kind="unrooted-scale")
class FourthRoot(Base):
    def attend(self, q, k, v):
        return (q @ k.mT * D**-0.25).softmax(-1) @ v


@case(ratio=float(D), kind="inverted-scale")
class Inverted(Base):
    def attend(self, q, k, v):
        return (q @ k.mT * D**0.5).softmax(-1) @ v


@case(ratio=1 / root, kind="double-scale")
class Twice(Base):
    def attend(self, q, k, v):
        return ((q * D**-0.5) @ k.mT / math.sqrt(D)).softmax(-1) @ v


@case(ratio=1 / root, kind="double-scale")
class TwiceFused(Base):
    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q / math.sqrt(D), k, v)


@case(ratio=1 / root, kind="double-scale")
class TwiceBothSides(Base):
    def attend(self, q, k, v):
        return ((q * D**-0.5) @ (k * D**-0.5).mT).softmax(-1) @ v


@case(ratio=math.sqrt(D) / 8, kind="constant-scale")
class Eighth(Base):
    def attend(self, q, k, v):
        return (q @ k.mT * 0.125).softmax(-1) @ v


@case(ratio=0.5 / root, kind="scale-precedence")
class Precedence(Base):
    def attend(self, q, k, v):
        return (q @ k.mT / D**1 / 2).softmax(-1) @ v


@case(ratio=2 / root, kind="scale-precedence")
class PrecedenceInBrackets(Base):
    def attend(self, q, k, v):
        return (q @ k.mT / (D**1 / 2)).softmax(-1) @ v


@case(ratio=float(C // H**-0.5) * root, kind="scale-precedence")
class FloorDivided(Base):
    def __init__(self):
        super().__init__()
        self.scale = C // H**-0.5

    def attend(self, q, k, v):
        return (q @ k.mT * self.scale).softmax(-1) @ v


@case(ratio=root, kind="scale-after-softmax")
class WeightsScaled(Base):
    def attend(self, q, k, v):
        return ((q @ k.mT).softmax(-1) / math.sqrt(D)) @ v


@case(ratio=root, kind="scale-after-softmax")
class OutputScaled(Base):
    def attend(self, q, k, v):
        return ((q @ k.mT).softmax(-1) @ v) * D**-0.5


@case(ratio=1.0, kind="multiplicative-mask")
class MultipliedMask(Base):
    def attend(self, q, k, v):
        return (q @ k.mT / math.sqrt(D) * causal()).softmax(-1) @ v


@case(ratio=1.0, kind="multiplicative-mask")
class Triangle(Base):
    def attend(self, q, k, v):
        return torch.tril(q @ k.mT / math.sqrt(D)).softmax(-1) @ v


@case(ratio=1.0, kind="multiplicative-mask")
class FilledWithLittle(Base):
    def attend(self, q, k, v):
        return (q @ k.mT / math.sqrt(D)).masked_fill(~causal(), 1e-9).softmax(-1) @ v


@case(ratio=1.0, kind="mask-after-softmax")
class MaskedWeights(Base):
    def attend(self, q, k, v):
        return ((q @ k.mT / math.sqrt(D)).softmax(-1) * causal()) @ v


@case(ratio=1.0, kind="not-affine")
class Squared(Base):
    def attend(self, q, k, v):
        return ((q @ k.mT / math.sqrt(D)) ** 2).softmax(-1) @ v


@case(ratio=1.0, kind="not-affine")
class Rectified(Base):
    def attend(self, q, k, v):
        return F.relu(q @ k.mT / math.sqrt(D)).softmax(-1) @ v


@case(ratio=root, kind="missing-scale", head_dim=C)
class NoProjections(nn.Module):
    def forward(self, x):
        return F.softmax(x @ x.transpose(1, 2), dim=-1) @ x * 1.0


CASES[-1].ratio = math.sqrt(C)


@case(ratio=math.sqrt(T), kind="missing-scale", head_dim=T)
class ChannelAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(C, 3 * C)

    def forward(self, x):
        q, k, v = self.qkv(x).reshape(B, T, 3, H, D).permute(2, 0, 3, 4, 1).unbind(0)
        return (q @ k.mT).softmax(-1) @ v


# --- no attention: nothing may be reported ---------------------------------------------------------------------------------------

SILENT: list[type] = []


def silent(cls: type) -> type:
    SILENT.append(cls)
    return cls


@silent
class ClassLogits(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(C, 7)

    def forward(self, x):
        return self.head(x).softmax(-1)


@silent
class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.experts = nn.Linear(C, 4), nn.ModuleList(nn.Linear(C, C) for _ in range(4))

    def forward(self, x):
        gates = self.gate(x).softmax(-1)
        return torch.einsum("bte,btec->btc", gates, torch.stack([e(x) for e in self.experts], 2))


@silent
class Contrastive(nn.Module):
    def forward(self, x):
        x = F.normalize(x[:, 0], dim=-1)
        return F.cross_entropy(x @ x.T * 20, torch.arange(len(x)))


@silent
class LinearAttention(nn.Module):
    def forward(self, x):
        q, k = x.softmax(-1), x.softmax(1)
        return q @ (k.mT @ x)


@silent
class OneFeature(nn.Module):
    """Products of single numbers: positions and masks are made so."""

    def forward(self, x):
        return (x[..., :1] @ x[..., :1].mT).softmax(-1) @ x


@silent
class Pooling(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Parameter(torch.randn(C))

    def forward(self, x):
        return (x @ self.query).softmax(-1).unsqueeze(1) @ x


@silent
class AdditiveAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.w = nn.Linear(C, D), nn.Linear(C, D), nn.Linear(D, 1)

    def forward(self, x):
        scores = self.w(torch.tanh(self.a(x)[:, :, None] + self.b(x)[:, None])).squeeze(-1)
        return scores.softmax(-1) @ x


@silent
class RandomFeatures(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("omega", torch.randn(C, 32))

    def forward(self, x):
        q, k = torch.exp(x @ self.omega / 8), torch.exp(x @ self.omega / 8)
        return (q @ (k.mT @ x)) / (q @ k.sum(1, keepdim=True).mT)


@case()
class PermutedQueries(Base):
    """q and k picked by index after they were scaled: the factors stay with them."""

    def attend(self, q, k, v):
        order = torch.arange(T).flip(0)
        return ((q * D**-0.5)[:, :, order] @ k.index_select(2, order).mT).softmax(-1) @ v.index_select(2, order)


@case(ratio=1 / root, kind="double-scale")
class PermutedQueriesTwice(Base):
    def attend(self, q, k, v):
        order = torch.arange(T).flip(0)
        return ((q * D**-0.5)[:, :, order] @ k.mT * D**-0.5).softmax(-1) @ v


@case(ratio=1.0, kind="mask-after-softmax")
class MaskedWeightsFilled(Base):
    def attend(self, q, k, v):
        return (q @ k.mT / math.sqrt(D)).softmax(-1).masked_fill(~causal(), 0.0) @ v


@case(kind="softmax-axis", status="fault", ratio=1.0)
class SoftmaxOverQueries(Base):
    def attend(self, q, k, v):
        return (q @ k.mT / math.sqrt(D)).softmax(-2) @ v


@case(kind="softmax-axis", status="fault", ratio=1.0)
class SoftmaxOverHeads(Base):
    def attend(self, q, k, v):
        return (q @ k.mT / math.sqrt(D)).softmax(1) @ v


@case()
class ScaledSums(Base):
    """Funnel: q and a bias for it are scaled apart, and added."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(H, 1, D))

    def attend(self, q, k, v):
        s = D**-0.5
        return ((q * s + self.bias * s) @ k.mT).softmax(-1) @ v


@case()
class BiasAfterTheScale(Base):
    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(H, 1, D))

    def attend(self, q, k, v):
        return ((q * D**-0.5 + self.bias) @ k.mT).softmax(-1) @ v


@case()
class DropoutOnTheLogits(Base):
    def attend(self, q, k, v):
        return F.dropout(q @ k.mT / math.sqrt(D), 0.2, training=True).softmax(-1) @ v


@case(ratio=1.0)
class PowersOfTwo(Base):
    """softmax as kernels write it: exp2, with log2(e) in the scale."""

    def attend(self, q, k, v):
        x = q @ k.mT * (math.log2(math.e) / math.sqrt(D))
        p = torch.exp2(x - x.amax(-1, keepdim=True))
        return (p / p.sum(-1, keepdim=True)) @ v


@case(ratio=math.log(2), kind="constant-scale")
class PowersOfTwoWithoutTheirFactor(Base):
    def attend(self, q, k, v):
        x = q @ k.mT / math.sqrt(D)
        p = 2 ** (x - x.amax(-1, keepdim=True))
        return (p @ v) / p.sum(-1, keepdim=True)


@case(regressed=False)
class OverlappingChunks(Base):
    """Longformer: windows of keys in overlapping chunks, written along padded diagonals into one buffer."""

    def attend(self, q, k, v):
        b, h, t, d = q.shape
        w = t // 2
        q, k, v = (x.reshape(b * h, t, d) for x in (q * d**-0.5, k, v))
        chunks = q.unfold(1, 2 * w, w).mT @ k.unfold(1, 2 * w, w)
        padded = F.pad(chunks, (0, 0, 0, 1)).view(b * h, -1, 2 * w, 2 * w + 1)
        scores = padded.new_zeros(b * h, t // w, w, 2 * w + 1)
        scores[:, :-1, :, w:] = padded[:, :, :w, : w + 1]
        scores[:, -1, :, w:] = padded[:, -1, w:, : w + 1]
        weights = scores.softmax(-1)
        skewed = F.pad(weights, (0, w + 1)).view(b * h, t // w, -1)[:, :, :-w].view(b * h, t // w, w, 3 * w + 1)[..., :-1]
        values = F.pad(v, (0, 0, w, w)).unfold(1, 3 * w, w).mT
        return (skewed @ values).reshape(b, h, t, d)


@silent
class SlotAttention(nn.Module):
    """Slots compete for the inputs: softmax over them, then a mean over the inputs."""

    def forward(self, x):
        weights = (x[:, :5] @ x.mT / C**0.5).softmax(1) + 1e-8
        return (weights / weights.sum(-1, keepdim=True)) @ x


@silent
class Capsules(nn.Module):
    """Routing by agreement: softmax over the capsules above, a sum over those below."""

    def forward(self, x):
        votes = x.unflatten(-1, (5, -1))
        above = votes.mean(1)
        agreement = (votes * above[:, None]).sum(-1)
        return (agreement.softmax(2)[..., None] * votes).sum(1)
