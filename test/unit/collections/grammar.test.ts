import fc from 'fast-check'
import t from 'tap'
import { parseQuery, printQuery, type Query } from '../../../src/collections/grammar.ts'

const condition = (field: string, operator: '=' | '!=' | '<' | '>' | '~', value: string): Query => ({
  kind: 'condition',
  field,
  operator,
  value,
})
const one = condition('a', '=', '1')
const two = condition('b', '!=', 'x y')
const three = condition('os.name', '~', 'Deb')

t.test('; binds tighter than , and parentheses tighter than both', async (t) => {
  const read: Record<string, Query> = {
    'a=1': one,
    '((a=1))': one,
    'a=1;b!=x y': { kind: 'all', of: [one, two] },
    'a=1,b!=x y;os.name~Deb': { kind: 'any', of: [one, { kind: 'all', of: [two, three] }] },
    '(a=1,b!=x y);os.name~Deb': { kind: 'all', of: [{ kind: 'any', of: [one, two] }, three] },
    'id<5,id>10': { kind: 'any', of: [condition('id', '<', '5'), condition('id', '>', '10')] },
  }
  for (const [text, query] of Object.entries(read)) t.strictSame(parseQuery(text), query, text)
})

t.test('everything else is refused', async (t) => {
  const refused = [
    '',
    'bad',
    'a=',
    'a=<b',
    'a==b',
    'a><b',
    'a!b',
    'a=1;',
    'a=1; b=2',
    'a=1|b=2',
    'a=1)',
    '(a=1',
    '(a=1)(b=2)',
  ]
  for (const text of [...refused, '()', 'a=1:2', 'ä=1', 'a=1\n']) t.equal(parseQuery(text), undefined, text)
})

t.test('1024 characters, 32 conditions and 16 nested parentheses are the maximum', async (t) => {
  t.ok(parseQuery(`a=${'x'.repeat(1022)}`))
  t.notOk(parseQuery(`a=${'x'.repeat(1023)}`))
  t.ok(parseQuery(Array(32).fill('a=1').join(';')))
  t.notOk(parseQuery(Array(33).fill('a=1').join(',')))
  t.ok(parseQuery(`${'('.repeat(16)}a=1${')'.repeat(16)}`))
  t.notOk(parseQuery(`${'('.repeat(17)}a=1${')'.repeat(17)}`))
})

/** The shortest of 20 measurements of 20 calls each, so that other load on the machine does not count. */
function shortestDuration(text: string): number {
  const durations = Array.from({ length: 20 }, () => {
    const startedAt = performance.now()
    for (let call = 0; call < 20; call++) parseQuery(text)
    return performance.now() - startedAt
  })
  return Math.min(...durations)
}

t.test('hostile texts are refused about as fast as a valid text of the same length is read', async (t) => {
  const valid = Array(32)
    .fill(`a=${'x'.repeat(29)}`)
    .join(';')
  t.ok(parseQuery(valid))
  const reference = shortestDuration(valid)
  const texts = [
    '('.repeat(100_000),
    '-'.repeat(100_000),
    '('.repeat(1024),
    '-'.repeat(1024),
    'a=1;'.repeat(256),
    ' '.repeat(1024),
  ]
  for (const text of texts) {
    t.notOk(parseQuery(text))
    const duration = shortestDuration(text)
    t.ok(duration < 20 * reference, `${text.slice(0, 8)}… took ${duration} ms, a valid text ${reference} ms`)
  }
})

const queries = fc.letrec<{ query: Query; condition: Query; compound: Query }>((tie) => ({
  query: fc.oneof({ depthSize: 'small', withCrossShrink: true }, tie('condition'), tie('compound')),
  condition: fc
    .tuple(
      fc.stringMatching(/^[A-Za-z0-9_.-]{1,8}$/),
      fc.constantFrom('=' as const, '!=' as const, '<' as const, '>' as const, '~' as const),
      fc.stringMatching(/^[A-Za-z0-9_. -]{1,8}$/),
    )
    .map((parts) => condition(...parts)),
  compound: fc
    .tuple(fc.constantFrom('all' as const, 'any' as const), fc.array(tie('query'), { minLength: 2, maxLength: 3 }))
    .map(([kind, of]) => ({ kind, of })),
})).query

/** The depth of nested parentheses; infinite if they are not balanced. */
function deepest(text: string): number {
  let open = 0
  let deepestSoFar = 0
  for (const character of text) {
    if (character === '(') deepestSoFar = Math.max(deepestSoFar, ++open)
    if (character === ')' && --open < 0) return Number.POSITIVE_INFINITY
  }
  return open === 0 ? deepestSoFar : Number.POSITIVE_INFINITY
}

t.test('a printed query parses to the same query', async (t) => {
  fc.assert(
    fc.property(queries, (query) => {
      const text = printQuery(query)
      fc.pre(text.length <= 1024 && text.split(/[,;]/).length <= 32 && deepest(text) <= 16)
      t.strictSame(parseQuery(text), query)
    }),
    { numRuns: 300 },
  )
})

t.test('accepts what the pattern of the real API accepts, except unbalanced parentheses', async (t) => {
  const term = '\\(*[A-Za-z0-9_.-]+(?:=|!=|<|>|~)[A-Za-z0-9_. -]+\\)*'
  const real = new RegExp(`^${term}(?:[;,]${term})*$`)
  const tokens = fc.constantFrom('a', 'b.1', 'x y', ' ', '=', '=', '!=', '<', '>', '~', ';', ',', '(', ')', ':', '!')
  fc.assert(
    fc.property(fc.array(tokens, { maxLength: 12 }), (parts) => {
      const text = parts.join('')
      t.equal(parseQuery(text) !== undefined, real.test(text) && deepest(text) <= 16, text)
    }),
    { numRuns: 2000 },
  )
})
