/**
 * Hostile bodies in place of a node's response. The oracle is `JSON.parse` with explicit rules; it shares no code with the
 * scan: what it refuses is unreadable, what it accepts is read with the same error number and rows.
 */
import fc from 'fast-check'
import t from 'tap'
import { type Envelope, readEnvelopeInTurns } from '../../../src/core/envelope.ts'

const MAX_DEPTH = 100

const nested = fc
  .tuple(fc.integer({ min: 0, max: 130 }), fc.constantFrom('[]', '{"a":0}'), fc.boolean())
  .map(([depth, inner, isList]) =>
    isList ? '['.repeat(depth) + inner + ']'.repeat(depth) : '{"a":'.repeat(depth) + inner + '}'.repeat(depth),
  )
const value = fc.oneof({ weight: 3, arbitrary: fc.json({ maxDepth: 3 }) }, nested)
const number = fc.constantFrom('0', '0', '0', '7', '7', '1701', '-1', '-0', '1e400', '0.5', '"607"', 'null', '3', '2e1')
const row = fc.oneof(fc.constant('{}'), fc.constant('[]'), value)
const rows = fc.array(row, { maxLength: 5 }).map((each) => `[${each.join(', ')}]`)
const nameOf = (...names: string[]) =>
  fc.constantFrom(...names.flatMap((name) => [name, name, `\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}`]))
const dataMember = fc.oneof(
  fc.tuple(nameOf('items'), fc.oneof(rows, value)),
  fc.tuple(nameOf('totalItems'), number),
  fc.tuple(nameOf('other', 'error', 'data'), value),
)
const objectOf = (members: readonly (readonly [string, string])[]) =>
  `{${members.map(([name, each]) => ` "${name}" : ${each}`).join(',')}}`
const data = fc.oneof({ weight: 4, arbitrary: fc.array(dataMember, { maxLength: 4 }).map(objectOf) }, rows, value)
const member = fc.oneof(
  fc.tuple(nameOf('error'), number),
  fc.tuple(nameOf('data'), data),
  fc.tuple(nameOf('message'), value),
  fc.tuple(nameOf('items', 'totalItems', 'x'), value),
)
const change = fc.tuple(fc.nat(), fc.nat(2), fc.constantFrom('', '{', '}', '[', ']', ',', '"', ':', '\\', ' ', '0'))
const body = fc
  .tuple(
    fc.oneof(
      { weight: 5, arbitrary: fc.array(member, { maxLength: 5 }).map(objectOf) },
      { weight: 5, arbitrary: fc.tuple(number, data).map(([error, it]) => `{"error":${error},"data":${it}}`) },
      value,
    ),
    fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, change),
  )
  .map(([text, changed]) => {
    if (changed === null) return text
    const at = changed[0] % (text.length + 1)
    return text.slice(0, at) + changed[2] + text.slice(at + changed[1])
  })

/** The depth of brackets, without those in texts. */
function depthOf(text: string): number {
  let depth = 0
  let deepest = 0
  for (const [bracket] of text.replace(/"(?:[^"\\]|\\.)*"/gs, '').matchAll(/[[\]{}]/g)) {
    depth += bracket === '[' || bracket === '{' ? 1 : -1
    deepest = Math.max(deepest, depth)
  }
  return deepest
}

/** The names of the members of the envelope and of its data, doubled ones too, by a parser of the test. */
function namesOf(text: string): { readonly top: readonly string[]; readonly inData: readonly string[] } {
  const top: string[] = []
  const inData: string[] = []
  const path: { readonly isObject: boolean; name: string }[] = []
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"(?:\s*:)?|[[\]{}]/gs)) {
    if (token === '{' || token === '[') path.push({ isObject: token === '{', name: '' })
    else if (token === '}' || token === ']') path.pop()
    else if (token.endsWith(':')) {
      const name = String(JSON.parse(token.slice(0, -1).trim()))
      const open = path.at(-1)
      if (open !== undefined) open.name = name
      if (path.length === 1) top.push(name)
      else if (path.length === 2 && path[0]?.isObject && path[0].name === 'data') inData.push(name)
    }
  }
  return { top, inData }
}

const isTwice = (names: readonly string[], ...wanted: readonly string[]) =>
  wanted.some((name) => names.filter((each) => each === name).length > 1)

interface Expected {
  readonly error: number
  readonly rows: readonly unknown[] | undefined
}

/** Returns `undefined` for a body that must be refused. */
function expectedOf(text: string): Expected | undefined {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return undefined
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed) || depthOf(text) > MAX_DEPTH)
    return undefined
  const members = parsed as { error?: unknown; data?: unknown; message?: unknown }
  const { top, inData } = namesOf(text)
  const single = ['error', 'data', 'message', 'items', 'totalItems', 'affected_items', 'total_affected_items']
  if (isTwice(top, ...single) || isTwice(inData, ...single)) return undefined
  const number =
    typeof members.error === 'string' && /^\d{1,6}$/.test(members.error) ? Number(members.error) : members.error
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 0) return undefined
  if (!top.includes('data') && !top.includes('message')) return undefined
  const it = members.data
  if (typeof it !== 'object' || it === null || Array.isArray(it)) return { error: number, rows: undefined }
  const { items, totalItems } = it as { items?: unknown; totalItems?: unknown }
  if (inData.includes('totalItems') && !(Number.isSafeInteger(totalItems) && Number(totalItems) >= 0)) return undefined
  return { error: number, rows: Array.isArray(items) ? items : undefined }
}

/** Returns what the edge has read, in the form of the oracle. */
function readOf(envelope: Envelope, bytes: Buffer): Expected | undefined {
  if (!envelope.ok) return undefined
  const { error, rows } = envelope
  if (rows === undefined) return { error, rows: undefined }
  const found: unknown[] = []
  for (let at = 0; at < rows.ranges.length; at += 2) {
    found.push(JSON.parse(bytes.toString('utf8', rows.ranges[at], rows.ranges[at + 1])))
  }
  return { error, rows: found }
}

t.test('a body is read or refused as the oracle says', async (t) => {
  let read = 0
  let refused = 0
  await fc.assert(
    fc.asyncProperty(body, async (text) => {
      const expected = expectedOf(text)
      if (expected === undefined) refused += 1
      else read += 1
      const bytes = Buffer.from(text)
      t.same(readOf(await readEnvelopeInTurns(bytes), bytes), expected, text.slice(0, 300))
      return t.passing()
    }),
    { numRuns: 5_000 },
  )
  t.ok(read > 500 && refused > 500, `${read} read, ${refused} refused`)
})

t.test('a body that is checked in several turns is read in the same way, wherever it is cut', async (t) => {
  const filler = 'é\\n"'.length
  await fc.assert(
    fc.asyncProperty(body, fc.integer({ min: 65_500, max: 65_560 }), async (text, length) => {
      const padded = text.replace(/^\{/, `{"pad":"${'x'.repeat(Math.max(0, length - filler))}\\n\\u00e9é",`)
      const bytes = Buffer.from(padded)
      t.same(readOf(await readEnvelopeInTurns(bytes), bytes), expectedOf(padded))
      return t.passing()
    }),
    { numRuns: 300 },
  )
})
