/** Errors of the v3 contract as problems (RFC 9457), and suggestions for misspelled names. */
import t from 'tap'
import { errorTable } from '../../../src/core/errors.ts'
import { startEdge } from '../../support/edge.ts'

const PROBLEM = 'application/problem+json'
const nodes = [{ name: 'master', type: 'master', url: 'http://127.0.0.1:9' }] as const

t.test('a client that accepts problems by name gets them; others get the bytes of the contract', async (t) => {
  const edge = await startEdge({ nodes })
  t.teardown(() => edge.close())
  const get = async (path: string, accept?: string, user = 'admin') => {
    const headers = { authorization: edge.authorization(user), ...(accept && { accept }) }
    const response = await fetch(edge.url + path, { headers })
    const { status, headers: received } = response
    return {
      status,
      type: received.get('content-type'),
      didYouMean: received.get('did-you-mean'),
      text: await response.text(),
    }
  }
  const message = errorTable[604].message
  const plain = await get('/agents?limt=5')
  t.equal(plain.status, 400)
  t.match(plain.text, new RegExp(`^\\{"error":604,"message":"${message}\\. Allowed filters: \\[ `))
  t.notMatch(plain.text, /mean/, 'the text is that of the contract')
  t.equal(plain.didYouMean, 'limit')
  t.equal((await get('/agents?zzzzzzzz=5')).didYouMean, null, 'no name is similar')

  const problem = await get('/agents?limt=5', `application/json, ${PROBLEM};q=0.9`)
  t.equal(problem.status, 400)
  t.equal(problem.type, `${PROBLEM}; charset=utf-8`)
  const { detail, ...rest } = JSON.parse(problem.text)
  t.same(JSON.parse(plain.text).message, detail)
  t.strictSame(rest, {
    title: message,
    status: 400,
    error: 604,
    remediation: errorTable[604].remedy,
    suggestion: 'Did you mean "limit"?',
  })
  t.equal((await get('/agents?limit=0')).status, 200, 'as in the real API')
  t.match(await get('/agents?limit=0', PROBLEM), { status: 400, text: /"error":1406/ })
  t.match(await get('/agents?limt=5&pretty', PROBLEM), { text: /^\{\n {3}"title"/ })
  t.match(await get('/nothing', PROBLEM), { status: 404, text: /"error":603/ })
  t.match(await get('/nothing', '*/*'), { status: 404, text: /^\{"error":603/ })
  t.match(await get('/agents', PROBLEM, 'nobody'), { status: 401, type: /problem/, text: /"error":901/ })
  t.match(await get('/agents', undefined, 'nobody'), { status: 401, text: /^401 Unauthorized$/ })
})
