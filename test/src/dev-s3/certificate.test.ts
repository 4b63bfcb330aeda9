import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { selfMadeCertificate } from '../../../src/dev-s3/certificate.ts'

test('dev s3 certificate: it signs itself, and names this machine, for a month', () => {
  const now = Date.parse('2026-02-01T10:11:12Z')
  // Of twenty, one or another fills its last line of PEM, or has a leading zero somewhere.
  for (let i = 0; i < 20; i++) {
    const { cert, key } = selfMadeCertificate(now)
    const read = new X509Certificate(cert)
    assert.ok(read.verify(read.publicKey))
    assert.ok(read.checkPrivateKey(createPrivateKey(key)))
    assert.equal(read.checkHost('localhost'), 'localhost')
    assert.equal(read.checkIP('127.0.0.1'), '127.0.0.1')
    assert.equal(read.checkHost('example.com'), undefined)
    assert.ok(read.ca)
    assert.equal(Date.parse(read.validFrom), now - 86_400_000)
    assert.equal(Date.parse(read.validTo), now + 30 * 86_400_000)
  }
})
