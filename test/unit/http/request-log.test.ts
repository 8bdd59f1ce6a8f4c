import { pino } from 'pino'
import t from 'tap'
import { LINE_FORM } from '../../../src/app/log-lines.ts'
import type { RequestEvent } from '../../../src/core/events.ts'
import { requestLog } from '../../../src/http/request-log.ts'
import { createEdgeEvents } from '../../../src/telemetry/events.ts'
import { requestEvent } from '../../support/request-event.ts'

const AT = 1_700_000_000_123

const linesTo = (lines: string[]) => ({
  log: { isLevelEnabled: () => true },
  logTo: { write: (line: string) => void lines.push(line) },
})

/** Returns the lines that the log writes for these requests. */
function linesOf(...requests: readonly RequestEvent[]): string[] {
  const lines: string[] = []
  const log = requestLog(linesTo(lines))
  for (const request of requests) log(request)
  return lines
}

/** Returns the line that the logger writes for these fields. */
function lineOfLogger(fields: object, message = 'request'): string {
  let written = ''
  const write = (line: string) => {
    written += line
  }
  pino({ ...LINE_FORM, timestamp: () => `,"time":"${new Date(AT).toISOString()}"` }, { write }).info(fields, message)
  return written
}

const ended = (overrides: Partial<RequestEvent>) => requestEvent({ at: AT, ms: 1.26, ...overrides })
const logged = (overrides: object = {}) => ({
  reqId: 'id',
  method: 'GET',
  route: '/agents',
  status: 200,
  milliseconds: 1.3,
  caller: 'admin',
  client: '127.0.0.1',
  ...overrides,
})
const DISCONNECTED = 'request not answered: connection closed'

t.test('the line of a request is the one that the logger writes for its fields', async (t) => {
  const odd = 'näme "\\\u2028\u0001'
  const unanswered = ended({ status: 0, message: DISCONNECTED })
  const { status: _, ...withoutStatus } = logged()
  const malformed = { method: 'other', sentMethod: undefined, route: 'unknown', caller: undefined, client: '::1' }
  const rejected = ended({ ...malformed, cache: 'none', errorCode: 900, status: 400, isOfListener: true })
  const { method: __, caller: ___, ...ofListener } = logged({ route: 'unknown', client: '::1', status: 400, code: 900 })
  for (const [what, request, expected] of [
    ['a hit', ended({}), lineOfLogger(logged())],
    ['a hit by an odd name', ended({ caller: odd }), lineOfLogger(logged({ caller: odd }))],
    ['a traced hit', ended({ traceId: 'a1' }), lineOfLogger(logged({ traceId: 'a1' }))],
    ['a miss', ended({ cache: 'miss' }), lineOfLogger(logged())],
    ['a stale response', ended({ cache: 'stale', caller: odd }), lineOfLogger(logged({ caller: odd }))],
    ['an error', ended({ cache: 'none', errorCode: 603, status: 404 }), lineOfLogger(logged({ status: 404 }))],
    ['an unknown method', ended({ cache: 'none', sentMethod: 'PATCH' }), lineOfLogger(logged({ method: 'PATCH' }))],
    ['a hit whose client disconnects', ended({ message: DISCONNECTED }), lineOfLogger(logged(), DISCONNECTED)],
    ['no response', unanswered, lineOfLogger(withoutStatus, DISCONNECTED)],
    ['malformed', rejected, lineOfLogger({ ...ofListener, milliseconds: 1.3 })],
  ] as const) {
    t.strictSame(linesOf(request), [expected], what)
  }
  t.strictSame(linesOf(ended({ message: undefined })), [], 'a request without a line')
})

t.test('a remembered part of a line belongs to the same request and caller only', async (t) => {
  const differing: readonly [Partial<RequestEvent>, object][] = [
    [{ status: 304 }, { status: 304 }],
    [{ method: 'HEAD', sentMethod: 'HEAD' }, { method: 'HEAD' }],
    [{ route: '/rules' }, { route: '/rules' }],
    [{ caller: 'other' }, { caller: 'other' }],
    [{ client: '::1' }, { client: '::1' }],
    [{ requestId: 'b' }, { reqId: 'b' }],
    [{ ms: 7 }, { milliseconds: 7 }],
  ]
  const requests = differing.flatMap(([fields]) => [ended({}), ended(fields)])
  const expected = differing.flatMap(([, fields]) => [lineOfLogger(logged()), lineOfLogger(logged(fields))])
  t.strictSame(linesOf(...requests), expected)
})

t.test('the line has the time of the request, however late it is written', async (t) => {
  const lines: string[] = []
  const events = createEdgeEvents()
  events.on({ request: requestLog(linesTo(lines)) })
  for (const at of [AT, AT + 1]) events.emit.request(ended({ at }))
  await new Promise((resolve) => setImmediate(resolve))
  t.strictSame(
    lines.map((line) => JSON.parse(line).time),
    [AT, AT + 1].map((at) => new Date(at).toISOString()),
  )
})
