/** Settings of the listener for clients and of the listener for operators. */
import { once } from 'node:events'
import { certificateNameAt } from '../../../support/certificate-name.ts'
import { eventually } from '../../../support/eventually.ts'
import type { Reloadable } from '../edge.ts'
import { answer, answerTo, OK, open, type Proof, unique, within } from '../proof.ts'

const fixture = (name: string) => new URL(`../../../support/certificates/${name}`, import.meta.url).pathname
const pair = (name: string) => ({ cert: fixture(`${name}.crt`), key: fixture(`${name}.key`) })

function nameAt(url: string): Promise<string> {
  return certificateNameAt(Number(new URL(url).port))
}

/** Sends bytes on a new connection and returns the first line of the response. */
async function firstLine(edge: Reloadable, bytes: string): Promise<string> {
  const socket = open(edge, bytes)
  const [first] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  return String(first).split('\r\n')[0] ?? ''
}

const requestOf = ({ edge }: Reloadable, path: string) =>
  `GET ${path} HTTP/1.1\r\nhost: edge\r\nauthorization: ${edge.authorization('admin')}\r\n\r\n`

/** Many times what the buffers of the operating system hold of a connection. */
const LARGE_RESPONSES = 90

export const proofs: readonly Proof[] = [
  {
    changes: { 'listen.hosts': ['edge.example'] },
    before: OK,
    after: [421, 910],
    observe: answer(() => '/agents?limit=1'),
  },
  {
    changes: { 'listen.limits.headers': '400B' },
    before: OK,
    after: [431, 907],
    observe: answer(() => '/agents?limit=1', { 'x-long': 'x'.repeat(400) }),
  },
  {
    changes: { 'listen.limits.url': '40B' },
    before: OK,
    after: [414, 908],
    observe: answer(() => `/agents?search=${unique()}${unique()}${unique()}`),
  },
  {
    changes: { 'listen.trustedProxies': ['127.0.0.1'] },
    before: '127.0.0.1',
    after: '198.51.100.7',
    observe: async ({ get, lines }) => {
      const path = `/agents?search=${unique()}`
      const from = lines().length
      await (await get(path, { 'x-forwarded-for': '198.51.100.7' })).arrayBuffer()
      await eventually(() => lines().length > from)
      return lines().at(-1)?.client
    },
  },
  {
    changes: { 'listen.timeouts.idle': '9s' },
    before: 'timeout=72',
    after: 'timeout=9',
    observe: async ({ get }) => (await get(`/agents?search=${unique()}`)).headers.get('keep-alive'),
  },
  {
    changes: { 'listen.timeouts.expect': '50ms' },
    before: 'open',
    after: 'HTTP/1.1 408 Request Timeout',
    observe: async (edge) => {
      const head = [
        'POST /agents HTTP/1.1',
        'host: edge',
        `authorization: ${edge.edge.authorization('admin')}`,
        'content-type: application/json',
        'content-length: 2',
        'expect: 100-continue',
      ]
      const socket = open(edge, `${head.join('\r\n')}\r\n\r\n`)
      let text = ''
      socket.on('data', (bytes) => {
        text += bytes
      })
      await eventually(() => text.includes('100 Continue'))
      // With the default of ten seconds nothing more arrives.
      await within(1500, once(socket, 'close'), undefined)
      socket.destroy()
      return /HTTP\/1\.1 (?!100)[^\r]*/.exec(text)?.[0] ?? 'open'
    },
  },
  {
    changes: { 'listen.timeouts.headers': '1s', 'listen.timeouts.body': '1s' },
    before: 'open',
    after: 'HTTP/1.1 408 Request Timeout',
    observe: async (edge) => within(4500, firstLine(edge, 'GET /agents HTTP/1.1\r\nhost: edge\r\n'), 'open'),
  },
  {
    changes: { 'listen.limits.body': '2KiB' },
    before: OK,
    after: [400, 701],
    observe: answerTo('PUT', '/agents/groups/default/restart', { body: JSON.stringify({ x: 'x'.repeat(3000) }) }),
  },
  {
    changes: { 'listen.limits.upload': '2KiB' },
    before: OK,
    after: [400, 701],
    observe: answerTo('POST', '/manager/files?path=etc/lists/large&overwrite=true', {
      body: 'key:value\n'.repeat(300),
      type: 'application/octet-stream',
    }),
  },
  {
    changes: { 'listen.limits.pipelined': 2 },
    before: 6,
    after: 0,
    observe: async (edge) => {
      // All of them arrive together: the first one is not answered before the last one is received.
      const socket = open(edge, requestOf(edge, '/agents?limit=1').repeat(6))
      let text = ''
      socket.on('data', (bytes) => {
        text += bytes
      })
      const count = () => text.split('HTTP/1.1 200').length - 1
      await eventually(() => count() === 6 || socket.destroyed)
      socket.destroy()
      return count()
    },
  },
  {
    start: { settings: { cache: { enabled: false } } },
    changes: { 'listen.timeouts.write': '1s' },
    before: 'open',
    after: 'closed',
    observe: async (edge) => {
      const from = edge.lines().length
      const socket = open(edge, requestOf(edge, '/rules?limit=1000').repeat(LARGE_RESPONSES))
      socket.pause()
      const isClosed = () =>
        edge
          .lines()
          .slice(from)
          .some(({ msg }) => msg === 'request not answered: connection closed')
      // With the default of 30 seconds, the edge waits for longer. On busy cores, the responses alone take some seconds.
      const closed = eventually(isClosed, 15_000).then(
        () => 'closed',
        () => 'open',
      )
      const result = await closed
      socket.destroy()
      return result
    },
  },
  {
    start: { settings: { listen: { drain: { delay: '0s', limit: '30s' } } } },
    changes: { 'listen.drain.delay': '4s' },
    before: false,
    after: true,
    isFinal: true,
    observe: async ({ edge }) => {
      // A timer of the same length, started before: timers may end a little before a clock says so, but in this order.
      let isOver = false
      const timer = setTimeout(() => (isOver = true), 4000)
      await edge.edge.drain()
      clearTimeout(timer)
      return isOver
    },
  },
  {
    start: { settings: { listen: { drain: { delay: '0s', limit: '1s' } } } },
    changes: { 'listen.drain.limit': '4s' },
    before: false,
    after: true,
    isFinal: true,
    observe: async (edge) => {
      await edge.simulator.faults.set('master', { stall: true })
      const from = edge.simulator.seen.length
      const request = edge.get(`/agents?search=${unique()}`).catch(() => undefined)
      await eventually(() => edge.simulator.seen.length > from)
      const begin = performance.now()
      await edge.edge.edge.drain()
      await request
      return performance.now() - begin >= 4000
    },
  },
  {
    start: { settings: { listen: { tls: pair('first') } } },
    changes: { 'listen.tls': pair('second') },
    before: 'first.edge.test',
    after: 'second.edge.test',
    observe: ({ edge }) => nameAt(edge.url),
  },
  {
    start: { settings: { operations: { tls: pair('first') } } },
    changes: { 'operations.tls': pair('second') },
    before: 'first.edge.test',
    after: 'second.edge.test',
    observe: ({ edge }) => nameAt(edge.operationsUrl),
  },
  {
    start: { settings: { listen: { cors: { origins: ['https://one.example'] } } } },
    changes: { 'listen.cors.origins': ['https://two.example'] },
    before: null,
    after: 'https://two.example',
    observe: async ({ get }) =>
      (await get('/agents?limit=1', { origin: 'https://two.example' })).headers.get('access-control-allow-origin'),
  },
]
