import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { proxyErrorOf } from '../../../src/join/proxy-errors.ts'
import { failureOf } from '../../../src/upstream/node-response.ts'

t.test('failed calls have the error types of RFC 9209', async (t) => {
  const expected = {
    ECONNREFUSED: 'connection_refused',
    ETIMEDOUT: 'connection_timeout',
    ECONNRESET: 'connection_terminated',
    ENOTFOUND: 'dns_error',
    CERT_HAS_EXPIRED: 'tls_certificate_error',
    EPROTO: 'tls_protocol_error',
    ERR_ADDRESS_NOT_ALLOWED: 'destination_ip_prohibited',
    UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'http_response_incomplete',
  }
  for (const [code, proxyError] of Object.entries(expected)) {
    const { reason } = failureOf(Object.assign(new Error(code), { code }), { sent: false, answered: false })
    t.equal(proxyErrorOf(924, { reason }), proxyError, `${code}: ${reason}`)
  }
  const { reason } = failureOf(Object.assign(new Error(''), { code: 'ECONNRESET' }), { sent: true, answered: true })
  t.equal(proxyErrorOf(925, { reason }), 'http_response_incomplete', reason)
})

t.test('errors without a failed call have an error type by their code', async (t) => {
  t.equal(proxyErrorOf(922), 'http_response_timeout')
  t.equal(proxyErrorOf(949), 'proxy_internal_error')
  t.equal(proxyErrorOf(1017), 'destination_unavailable')
  t.equal(proxyErrorOf(1701), 'http_protocol_error')
})

const { framework } = parse(readFileSync(new URL('../../contract/data/errors.yaml', import.meta.url), 'utf8')) as {
  readonly framework: readonly { readonly code: number; readonly kind: string }[]
}

t.test('the errors of the framework that are transient are those of the contract', async (t) => {
  const transient = framework.filter(({ kind }) => kind === 'transient').map(({ code }) => code)
  const codes = Array.from({ length: 9000 }, (_, at) => 1000 + at)
  const unavailable = codes.filter((code) => proxyErrorOf(code) === 'destination_unavailable')
  t.strictSame(unavailable, transient.toSorted())
})
