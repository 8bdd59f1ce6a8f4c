/** In front of release 5.0, the dialect answers v3 requests by what this release has, and refuses the others without a call. */
import t from 'tap'
import type { NodeCall } from '../../../src/core/node-call.ts'
import { callsOf, requestsOf, translated } from './dialect-calls.ts'
import { findFault, operationsOfRelease5 } from './v4-contract.ts'

const known = operationsOfRelease5()
const asking = { version: '5.0.0', refuse: (call: NodeCall) => findFault(known, call), knowsRelease: true } as const

const asked = await Promise.all(
  translated.map(async (record) => {
    const calls = await Promise.all(requestsOf(record).map((request) => callsOf(request, asking)))
    return { name: `${record.method} ${record.path}`, calls: calls.flat() }
  }),
)

t.test('every call is one of the release', async (t) => {
  const wrong = asked.flatMap(({ name, calls }) =>
    calls.flatMap(({ call, fault }) => (fault ? [`${name}: ${call.method} ${call.path} ${fault.detail}`] : [])),
  )
  t.strictSame([...new Set(wrong)], [])
})

t.test('what the release has is asked for', async (t) => {
  const answered = asked.flatMap(({ name, calls }) => (calls.length > 0 ? [name] : []))
  const reads = answered.filter((name) => name.startsWith('GET '))
  t.strictSame(
    reads.filter((name) => name.startsWith('GET /manager')),
    [
      'GET /manager/info',
      'GET /manager/status',
      'GET /manager/logs/summary',
      'GET /manager/configuration',
      'GET /manager/config/:component/:configuration',
      'GET /manager/configuration/validation',
      'GET /manager/logs',
      'GET /manager/files',
    ],
  )
  for (const name of ['GET /agents', 'GET /agents/groups', 'GET /cluster/nodes', 'GET /summary/agents', 'GET /version'])
    t.ok(reads.includes(name), name)
})
