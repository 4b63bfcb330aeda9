"""Every row of `draftsmith export --format speculators`, by the loader of vLLM's speculators.

    python scripts/readers/speculators_rows.py EXPORT TARGET [bfloat16|float32]

Needs speculators (tried: 0.9.0). TARGET is the target's checkpoint: the last state of each row,
normed and through the head, is compared with the target's own logits.
"""

import sys

import torch
from speculators.train.data import ArrowDataset
from transformers import AutoModelForCausalLM

export, path, *dtype = sys.argv[1:]
dtype = getattr(torch, dtype[0] if dtype else "bfloat16")
target = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
rows = ArrowDataset(1 << 20, export, on_missing="skip", hidden_states_dtype=dtype)
loaded = tokens = same = 0
worst = 0.0
for row in range(len(rows)):
    sample = rows[row]
    # Without a file: None, or from 0.9.0 on an object that says why.
    if not isinstance(sample, dict):
        continue
    loaded += 1
    with torch.no_grad():
        own = target(sample["input_ids"][None]).logits[0]
        last = sample["verifier_last_hidden_states"].float()
        found = target.lm_head(target.model.norm(last))
    worst = max(worst, (found - own).abs().max().item())
    same += (found.argmax(-1) == own.argmax(-1)).sum().item()
    tokens += len(own)
print(f"rows {len(rows)}, loaded {loaded}, logits off by {worst:.1e}")
print(f"first token the same at {same} of {tokens} positions")
