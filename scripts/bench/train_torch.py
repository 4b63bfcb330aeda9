"""The PyTorch side of `draftsmith bench train`: DFlash training steps on CPU.

Written as one who knows PyTorch would for speed: attention split into context and own block (no
square mask), fused AdamW, clipping by the library. Arguments are a folder with problem.json and
problem.safetensors, and `eager` or `compiled`. Each line on stdin asks for one step; each is
answered by a line on stdout: {"loss", "gradientNorm", "ms", "cpuMs", "peakBytes"}.
"""

import json
import resource
import struct
import sys
import time

import torch
from torch.nn import functional as F

folder, mode = sys.argv[1:]
with open(f"{folder}/problem.json") as file:
    problem = json.load(file)
config, shape = problem["config"], problem["shape"]
torch.set_num_threads(problem["threads"])

ROWS, TOKENS, BLOCKS = shape["rows"], shape["tokens"], shape["blocks"]
SLOTS, HIDDEN = config["blockSize"], config["hiddenSize"]
HEADS, KV_HEADS, HEAD_DIM = config["heads"], config["kvHeads"], config["headDim"]
GROUP, EPSILON = HEADS // KV_HEADS, config["rmsNormEps"]


def read_tensors(path):
    """Tensor by tensor, so that the file is never in memory beside them."""
    types = {"F32": torch.float32, "I64": torch.int64}
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        tensors = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            start, end = entry["data_offsets"]
            tensor = torch.empty(entry["shape"], dtype=types[entry["dtype"]])
            file.seek(8 + size + start)
            file.readinto(memoryview(tensor.view(-1).numpy()).cast("B"))
            assert tensor.nbytes == end - start
            tensors[name] = tensor
    return tensors


tensors = read_tensors(f"{folder}/problem.safetensors")
batch = {name: tensors[name] for name in ("token_ids", "hidden", "anchors", "labels", "weights")}
embedding = tensors["model.embed_tokens.weight"]
names = [name for name in tensors if name not in batch and name != "model.embed_tokens.weight"]
parameters = {name: tensors[name].requires_grad_() for name in names}

steps = torch.arange(HEAD_DIM // 2, dtype=torch.float64) * 2 / HEAD_DIM
speeds = (1.0 / config["rope"]["theta"] ** steps).float()


def turning(positions):
    angles = positions[..., None].float() * speeds
    angles = torch.cat([angles, angles], -1)[..., None, :]
    return angles.cos(), angles.sin()


def turned(x, weight, cos_sin):
    """Each head normed, then rotated by its row's position: [rows, .., heads, head_dim]."""
    x = F.rms_norm(x, (HEAD_DIM,), weight, EPSILON)
    near, far = x.chunk(2, -1)
    return x * cos_sin[0] + torch.cat([-far, near], -1) * cos_sin[1]


in_context = turning(torch.arange(TOKENS).expand(ROWS, TOKENS))
positions = batch["anchors"][..., None] + torch.arange(SLOTS)
in_blocks = turning(positions.reshape(ROWS, BLOCKS * SLOTS))
seen = torch.arange(TOKENS) < batch["anchors"].view(ROWS, 1, BLOCKS, 1, 1)
mask = torch.where(seen, 0.0, -1e30)
ids = torch.full((ROWS, BLOCKS, SLOTS), config["maskTokenId"])
ids[..., 0] = batch["labels"][..., 0]
labels = batch["labels"][..., 1:].reshape(-1)
weights = batch["weights"][..., 1:].reshape(-1)


def of_blocks(x):
    """[rows, blocks · slots, kv_heads, head_dim] → [rows, kv_heads, blocks, slots, head_dim]"""
    return x.view(ROWS, BLOCKS, SLOTS, KV_HEADS, HEAD_DIM).permute(0, 3, 1, 2, 4)


def attention(q, context_k, context_v, block_k, block_v):
    """Keys of the context are met by the rows of all blocks at once, a block's own by its rows."""
    q = q.view(ROWS, BLOCKS, SLOTS, KV_HEADS, GROUP, HEAD_DIM).permute(0, 3, 1, 4, 2, 5)
    q = q.reshape(ROWS, KV_HEADS, BLOCKS, GROUP * SLOTS, HEAD_DIM) * HEAD_DIM**-0.5
    wide = (ROWS, KV_HEADS, BLOCKS * GROUP * SLOTS, -1)
    tall = (ROWS, KV_HEADS, BLOCKS, GROUP * SLOTS, -1)
    context_k, context_v = context_k.transpose(1, 2), context_v.transpose(1, 2)
    far = (q.view(wide) @ context_k.transpose(-1, -2)).view(tall) + mask
    near = q @ of_blocks(block_k).transpose(-1, -2)
    shares = torch.cat([far, near], -1).softmax(-1)
    far, near = shares.split([TOKENS, SLOTS], -1)
    mixed = (far.reshape(wide) @ context_v).view(tall) + near @ of_blocks(block_v)
    mixed = mixed.view(ROWS, KV_HEADS, BLOCKS, GROUP, SLOTS, HEAD_DIM).permute(0, 2, 4, 1, 3, 5)
    return mixed.reshape(ROWS, BLOCKS * SLOTS, HEADS * HEAD_DIM)


def layer(x, feature, i):
    def weight(name):
        return parameters[f"layers.{i}.{name}.weight"]

    def heads(rows, name, count):
        return F.linear(rows, weight(f"self_attn.{name}")).unflatten(-1, (count, HEAD_DIM))

    h = F.rms_norm(x, (HIDDEN,), weight("input_layernorm"), EPSILON)
    q_norm, k_norm = weight("self_attn.q_norm"), weight("self_attn.k_norm")
    mixed = attention(
        turned(heads(h, "q_proj", HEADS), q_norm, in_blocks),
        turned(heads(feature, "k_proj", KV_HEADS), k_norm, in_context),
        heads(feature, "v_proj", KV_HEADS),
        turned(heads(h, "k_proj", KV_HEADS), k_norm, in_blocks),
        heads(h, "v_proj", KV_HEADS),
    )
    x = x + F.linear(mixed, weight("self_attn.o_proj"))
    h = F.rms_norm(x, (HIDDEN,), weight("post_attention_layernorm"), EPSILON)
    gated = F.silu(F.linear(h, weight("mlp.gate_proj"))) * F.linear(h, weight("mlp.up_proj"))
    return x + F.linear(gated, weight("mlp.down_proj"))


def loss_of():
    fused = F.linear(batch["hidden"], parameters["fc.weight"])
    feature = F.rms_norm(fused, (HIDDEN,), parameters["hidden_norm.weight"], EPSILON)
    x = F.embedding(ids, embedding).view(ROWS, BLOCKS * SLOTS, HIDDEN)
    for i in range(config["layers"]):
        x = layer(x, feature, i)
    x = F.rms_norm(x, (HIDDEN,), parameters["norm.weight"], EPSILON)
    x = x.view(ROWS, BLOCKS, SLOTS, HIDDEN)[:, :, 1:].reshape(-1, HIDDEN)
    return (F.cross_entropy(F.linear(x, embedding), labels, reduction="none") * weights).sum()


settings = problem["options"]["optimizer"]
optimizer = torch.optim.AdamW(
    parameters.values(),
    lr=problem["lr"],
    betas=settings["betas"],
    eps=settings["epsilon"],
    weight_decay=settings["weightDecay"],
    fused=True,
)
forward = torch.compile(loss_of) if mode == "compiled" else loss_of
for _ in sys.stdin:
    cpu_before, before = time.process_time(), time.perf_counter()
    optimizer.zero_grad(set_to_none=True)
    loss = forward()
    loss.backward()
    loss = loss.item()
    norm = torch.nn.utils.clip_grad_norm_(parameters.values(), settings["clip"]).item()
    optimizer.step()
    after, cpu_after = time.perf_counter(), time.process_time()
    answer = {
        "loss": loss,
        "gradientNorm": norm,
        "ms": (after - before) * 1e3,
        "cpuMs": (cpu_after - cpu_before) * 1e3,
        "peakBytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    print(json.dumps(answer), flush=True)
