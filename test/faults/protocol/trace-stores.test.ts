/**
 * The check of traces places what a trace does not show at any moment at which it can happen: when a replica stores a
 * response, which lookup a fetch belongs to, when a writer receives a reply, and when a lease begins.
 */
import t from 'tap'
import {
  acknowledged,
  change,
  client,
  heartbeat,
  inOrder,
  lookup,
  node,
  path,
  requestOf,
  violationOf,
} from './hand-made.ts'
import type { TraceEvent } from './record.ts'

const get = (begin: number, end: number, value: number, more = {}) => client(requestOf('GET', begin, end, value, more))
const byA = { url: 'http://a' }

const registered = [heartbeat(1, 'a'), heartbeat(2, 'b')]
/** Write 1 through replica a, from its fence (20) and the acknowledgement of replica b (30) to the response (70). */
const write = [
  ...client(requestOf('PUT', 10, 70, 1)),
  change(20, 'fence', 1),
  acknowledged(30, 1),
  node(40, 1, 'w1', path),
  change(50, 'lift', 2),
  acknowledged(60, 2),
]
/** The fence of a second write (100), which the other replica has not acknowledged. */
const secondFence = (by: 'a' | 'b'): TraceEvent[] => {
  const to = '/agents/001/group/w2'
  const tags = ['agent:001', 'group:w2']
  const fence = change(100, 'fence', 3, { id: 'f2', bump: tags, fence: tags })
  return [
    ...client(requestOf('PUT', 95, 200, 0, { path: to, url: `http://${by}`, status: 0 })),
    { ...fence, writer: by } as TraceEvent,
  ]
}
/** Replica b fetches 0 before the write; its client has the response when the fence is set already. */
const lateClient = [...registered, ...get(3, 25, 0, { id: 'r1' }), lookup(4), node(5, 0, 'r1'), ...write]
const lateNode = (at: number) => [
  ...registered,
  ...get(3, at + 1, 0, { id: 'r1' }),
  lookup(4),
  node(at, 0, 'r1'),
  ...write,
]
/** Replica b fetches 1 after the lift, whose invalidation it receives meanwhile. */
const besideLift = [...registered, ...write, ...get(51, 66, 1, { id: 'r2' }), lookup(52), node(62, 1, 'r2')]
/** Replica a fetches 1 before its client has the response to the write. */
const byWriter = (at: number) => [
  ...registered,
  ...write,
  ...get(45, 65, 1, { id: 'r2', ...byA }),
  lookup(at, 'a'),
  node(55, 1, 'r2'),
]
/** The fence does not find replica b. It registers again when it has looked up a value already. */
const withoutLease = [
  heartbeat(1, 'a'),
  heartbeat(2, 'b', 10),
  ...get(3, 6, 0, { id: 'r1' }),
  lookup(4),
  node(5, 0, 'r1'),
  ...write,
  ...get(80, 83, 1, { id: 'r2' }),
  lookup(81),
  node(82, 1, 'r2'),
  heartbeat(85, 'b'),
  ...secondFence('a'),
]
/** A refused write, whose fence has not reached Redis, is lifted before its client has the response. */
const refused = [
  ...registered,
  ...get(3, 6, 0, { id: 'r1' }),
  lookup(4),
  node(5, 0, 'r1'),
  ...client(requestOf('PUT', 10, 70, 0, { status: 503, code: 930, value: undefined })),
  change(45, 'lift', 0, { bump: [] }),
]

t.test('a replica may have stored a response, and an execution with the hit is accepted', async (t) => {
  const executions: Readonly<Record<string, readonly TraceEvent[]>> = {
    'before its client had the response': [...lateClient, ...get(26, 27, 0)],
    'when the fence was set, and the replica had not received the invalidation': [...lateNode(22), ...get(26, 27, 0)],
    'although another read looked up under the fence meanwhile': [...lateNode(22), lookup(21), ...get(26, 27, 0)],
    'after it had read the epochs again': [...besideLift, lookup(63), ...secondFence('a'), ...get(101, 102, 1)],
    'when the writer had the reply to its lift': [...byWriter(52), ...secondFence('b'), ...get(101, 102, 1, byA)],
    'before its lease began': [...withoutLease, ...get(101, 102, 1)],
    'and a refused write that never had a fence does not invalidate it': [
      ...refused,
      lookup(81, 'a'),
      ...get(80, 82, 0, byA),
    ],
  }
  for (const [title, events] of Object.entries(executions)) t.equal(violationOf(inOrder(events)), '', title)
})

t.test('a writer waits for the acknowledgements of its first fence, not of a renewed one', async (t) => {
  const renewed = [...registered, ...write, change(35, 'fence', 2), change(50, 'lift', 3), acknowledged(60, 3)]
  const once = renewed.filter(({ at }, index) => (at !== 50 && at !== 60) || index >= renewed.length - 2)
  t.equal(violationOf(inOrder(once)), '')
  t.match(violationOf(inOrder(once.filter(({ at }) => at !== 30))), /no "write 1: the node carries it out"/)
})

t.test('a hit that no store explains is a violation', async (t) => {
  const underFence = [...registered, ...write, ...get(20.5, 23, 0, { id: 'r1' }), lookup(21), node(22, 0, 'r1')]
  const violations: Readonly<Record<string, readonly TraceEvent[]>> = {
    'after the acknowledgement of the invalidation': [...lateClient, ...get(31, 32, 0)],
    'through another replica': [...lateClient, ...get(26, 27, 0, byA)],
    'of a response that the node sent after the acknowledgement': [...lateNode(32), ...get(34, 35, 0)],
    'of a response that was looked up under the fence': [...underFence, ...get(26, 27, 0)],
    'of a response that an invalidation has overtaken': [...besideLift, ...secondFence('a'), ...get(101, 102, 1)],
    'of a response that the writer looked up before its lift': [
      ...byWriter(49),
      ...secondFence('b'),
      ...get(101, 102, 1, byA),
    ],
    'after a fence that has not found the replica': [...withoutLease, ...get(84, 86, 0)],
    'after a refused write that had a fence': [
      ...refused,
      change(20, 'fence', 1),
      lookup(81, 'a'),
      ...get(80, 82, 0, byA),
    ],
  }
  for (const [title, events] of Object.entries(violations))
    t.match(violationOf(inOrder(events)), /no read through/, title)
})
