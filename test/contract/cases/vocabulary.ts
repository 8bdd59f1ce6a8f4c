/** The words in which the rows of the cases are written; README.md explains them. A row with another word is an error. */
import { Ajv } from 'ajv'
import Type, { type Static, type TSchema } from 'typebox'

const closed = <T extends Record<string, TSchema>>(members: T) => Type.Object(members, { additionalProperties: false })
const optional = Type.Optional
const tableOf = <T extends TSchema>(values: T) => Type.Record(Type.String(), values)
const count = Type.Integer({ minimum: 0 })
const flag = Type.Literal(true)

const piece = Type.Union([
  Type.String(),
  closed({ repeat: Type.String(), times: count }),
  closed({ base64: Type.String(), charset: optional(Type.Literal('latin1')) }),
  closed({ hex: Type.String() }),
  closed({ gzip: Type.String(), times: optional(count), layers: optional(count) }),
])
const text = Type.Union([piece, Type.Array(piece)])

/** `null`: absent. */
const value = Type.Union([
  Type.String(),
  Type.Number(),
  Type.Null(),
  closed({
    matches: optional(Type.String()),
    excludes: optional(Type.String()),
    atLeast: optional(Type.Number()),
    atMost: optional(Type.Number()),
  }),
])

const send = closed({
  method: optional(Type.String()),
  path: optional(text),
  version: optional(Type.Literal('1.0')),
  headers: optional(tableOf(Type.Union([text, closed({ lines: Type.Array(text) }), Type.Null()]))),
  body: optional(text),
  raw: optional(text),
  continueWith: optional(text),
  port: optional(Type.Enum(['first', 'second', 'operations'])),
  connection: optional(Type.String()),
  responses: optional(count),
  times: optional(count),
  first: optional(count),
  clients: optional(count),
  gapMs: optional(Type.Array(count, { minItems: 2, maxItems: 2 })),
  leave: optional(closed({ afterMs: count, how: Type.Enum(['reset', 'close', 'halfClose']) })),
})

const bodyFacts = closed({
  is: optional(text),
  json: optional(Type.Unknown()),
  contains: optional(Type.Array(Type.String())),
  excludes: optional(Type.Array(Type.String())),
  matches: optional(Type.String()),
})

const responseFacts = {
  status: optional(Type.Union([count, Type.Array(count)])),
  statuses: optional(Type.Array(count)),
  interim: optional(Type.Array(count)),
  headers: optional(tableOf(value)),
  codings: optional(Type.Array(Type.String())),
  body: optional(bodyFacts),
  withinMs: optional(count),
}
const expect = closed({ ...responseFacts, anyOf: optional(Type.Array(closed(responseFacts))) })

const call = closed({
  to: Type.String(),
  count: optional(Type.Union([count, closed({ atLeast: optional(count), atMost: optional(count) })])),
  headers: optional(tableOf(value)),
  body: optional(bodyFacts),
  since: optional(Type.Enum(['start', 'run', 'step'])),
})

const nodeAnswer = closed({
  status: optional(count),
  headers: optional(tableOf(Type.String())),
  body: optional(text),
  raw: optional(text),
  delayMs: optional(count),
  held: optional(flag),
  end: optional(Type.Enum(['close', 'reset'])),
})
const nodeRule = closed({
  to: Type.String(),
  answers: optional(Type.Array(nodeAnswer, { minItems: 1 })),
  resetsFrom: optional(count),
  closesFrom: optional(count),
  closesIdleAfterMs: optional(count),
})

const file = closed({
  do: Type.Enum(['write', 'rename', 'replace', 'copy', 'truncate', 'link', 'remove', 'fill']),
  path: Type.String(),
  to: optional(Type.String()),
  text: optional(Type.String()),
})

const step = Type.Object(
  {
    note: optional(Type.String()),
    wait: optional(count),
    node: optional(Type.Array(nodeRule)),
    release: optional(flag),
    nodeCertificate: optional(Type.String()),
    file: optional(file),
    redis: optional(Type.Array(Type.String(), { minItems: 2 })),
    redisPrimary: optional(Type.String()),
    signal: optional(Type.Enum(['SIGTERM', 'SIGHUP'])),
    send: optional(send),
    save: optional(tableOf(Type.String())),
    background: optional(flag),
    eventually: optional(flag),
    expect: optional(expect),
    calls: optional(Type.Array(call)),
    callsWithinMs: optional(count),
    log: optional(closed({ matches: Type.String(), minLevel: optional(count), withinMs: count })),
    openFiles: optional(closed({ atMostMore: count, withinMs: count })),
    audit: optional(
      closed({
        files: Type.Array(Type.String()),
        writes: optional(count),
        faults: optional(Type.Array(Type.String())),
        notes: optional(Type.Array(Type.String())),
      }),
    ),
    handshake: optional(closed({ certificate: Type.String(), withinMs: count })),
    exit: optional(closed({ code: count, withinMs: count })),
  },
  { additionalProperties: false, minProperties: 1 },
)
export const ASSERTING = ['expect', 'calls', 'log', 'openFiles', 'audit', 'handshake', 'exit'] as const

const rig = closed({
  simulate: optional(
    closed({
      layout: optional(Type.Enum(['v3', 'v4'])),
      agents: optional(count),
      workers: optional(count),
      clockOffsetSeconds: optional(Type.Integer()),
      users: optional(tableOf(closed({ password: Type.String(), roles: Type.Array(Type.String()) }))),
    }),
  ),
  stub: optional(
    closed({
      host: optional(Type.String()),
      certificate: optional(Type.String()),
      protocols: optional(Type.Array(Type.String())),
    }),
  ),
  certificates: optional(
    tableOf(
      closed({
        authority: Type.String(),
        subject: Type.String(),
        names: optional(Type.String()),
        days: optional(Type.Integer()),
      }),
    ),
  ),
  files: optional(tableOf(Type.String())),
  redis: optional(Type.Array(Type.String())),
  users: optional(tableOf(closed({ password: Type.String(), roles: Type.Array(Type.String()) }))),
  settings: optional(tableOf(Type.Unknown())),
  headers: optional(tableOf(Type.String())),
  port: optional(Type.Enum(['first', 'second'])),
  process: optional(closed({ command: optional(Type.String()) })),
})

const run = closed({ on: Type.String(), times: optional(count), steps: Type.Array(step, { minItems: 1 }) })
const row = closed({
  id: Type.String(),
  class: optional(Type.String()),
  source: Type.String(),
  expected: Type.String(),
  why: optional(Type.String()),
  fails: optional(Type.Array(Type.String(), { minItems: 1 })),
  runs: Type.Array(run, { minItems: 1 }),
})
/** A file of rows. `shared`: a place for anchors of YAML. */
const sheet = closed({ shared: optional(Type.Unknown()), rigs: optional(tableOf(rig)), rows: Type.Array(row) })

export type Text = Static<typeof text>
export type Value = Static<typeof value>
export type Send = Static<typeof send>
export type Expect = Static<typeof expect>
export type BodyFacts = Static<typeof bodyFacts>
export type Call = Static<typeof call>
export type NodeRule = Static<typeof nodeRule>
export type NodeAnswer = Static<typeof nodeAnswer>
export type FileChange = Static<typeof file>
export type Step = Static<typeof step>
export type Rig = Static<typeof rig>
export type Run = Static<typeof run>
export type Row = Static<typeof row>
export type Sheet = Static<typeof sheet>

const isSheet = new Ajv({ strict: false }).compile<Sheet>(sheet)

/** Throws with the place of the first word that is not of the vocabulary. */
export function checkSheet(name: string, written: unknown): Sheet {
  if (isSheet(written)) return written
  const faults = (isSheet.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
  throw new Error(`${name}: ${faults.join('; ')}`)
}
