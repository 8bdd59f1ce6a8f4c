import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(join('src', name), 'utf8') }))
const namesOf = (pattern: RegExp) => files.filter(({ text }) => pattern.test(text)).map(({ name }) => name)

t.test(
  'plugins get the request and the reply of Fastify, and what they need is decorated on the request',
  async (t) => {
    t.strictSame(namesOf(/\bas (?:unknown as )?Fastify(?:Request|Reply)\b/), [], 'no object that imitates one')
    t.strictSame(namesOf(/: Fastify(?:Request|Reply) = \{/), [], 'no object that imitates one')
    t.strictSame(namesOf(/\b(?:Weak)?Map<Fastify(?:Request|Reply)\b/), [], 'no state beside the request')
  },
)

t.test('each plugin is used by the functions that its documentation names', async (t) => {
  const uses = (call: RegExp) => namesOf(call)
  t.strictSame(uses(/\bapp\.basicAuth\b/), ['http/credentials.ts'])
  t.strictSame(uses(/\brequest\.jwtVerify\(/), ['http/credentials.ts'])
  t.strictSame(uses(/\bapp\.jwt\.verify\(/), [], 'the key of a token is found by the function `secret`')
  t.strictSame(uses(/\bapp\.createRateLimit\(/), ['http/rate-limit.ts'])
  t.strictSame(uses(/\bfastify-caching|AbstractCache/), [], 'the cache of @fastify/caching is its own')
  // It would answer 304 for such a tag, whatever the URL and the caller of the request.
  t.strictSame(uses(/\breply\.etag\(/), [], 'its cache stays empty')
})
