"""The boto3 side of `draftsmith bench upload`.

put_object in a pool of threads that share one client, set as fast as its settings go: the payload
is not hashed for the signature, no checksum is computed, a connection for each thread. The one
argument is the job as JSON; the answer on stdout is {"seconds": …, "cpuSeconds": …}.
"""

import json
import os
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import boto3
from botocore.config import Config

job = json.loads(sys.argv[1])
with open(job["names"]) as file:
    names = json.load(file)

client = boto3.client(
    "s3",
    endpoint_url=job["endpoint"],
    region_name="us-east-1",
    config=Config(
        max_pool_connections=job["parallel"],
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": "path", "payload_signing_enabled": False},
    ),
)


def put(name):
    with open(os.path.join(job["files"], name), "rb") as file:
        body = file.read()
    client.put_object(Bucket=job["bucket"], Key=job["prefix"] + name, Body=body)


def spent():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


cpu_before, before = spent(), time.perf_counter()
with ThreadPoolExecutor(job["parallel"]) as pool:
    for _ in pool.map(put, names):
        pass
print(json.dumps({"seconds": time.perf_counter() - before, "cpuSeconds": spent() - cpu_before}))
