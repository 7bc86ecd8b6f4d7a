"""FAVOR+ (Choromanski 2021) in plain PyTorch, as performer-pytorch computes it, for the scripts beside this file."""
import math

import torch


def feature_count(head):
    """D ln D, even: as `attention.features: 0`."""
    return max(2, 2 * round(head * math.log(head) / 2))


def rotated(x):
    """RoPE in pairs of neighbours, base 10000. x [B, H, L, D]."""
    length, head = x.shape[-2:]
    angles = torch.arange(length, device=x.device)[:, None] * 10000.0 ** (
        -torch.arange(0, head, 2, device=x.device) / head)
    cos, sin = angles.cos(), angles.sin()
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


def orthogonal_matrix(features, head):
    """[features, head]: orthogonal rows in blocks of `head`, as long as Gaussian vectors."""
    blocks = [torch.linalg.qr(torch.randn(head, head))[0] for _ in range(-(-features // head))]
    return torch.cat(blocks)[:features] * torch.randn(features, head).norm(dim=1, keepdim=True)


def favor(x, matrix, is_query, epsilon=1e-4):
    """Positive random features of exp(q.k / sqrt(D)), stabilised by their maximum."""
    x = x * x.shape[-1] ** -0.25
    projected = x @ matrix.T
    largest = projected.amax(-1, True) if is_query else projected.amax((-2, -1), True)
    half_square = (x * x).sum(-1, True) / 2
    return ((projected - half_square - largest.detach()).exp() + epsilon) * matrix.shape[0] ** -0.5
