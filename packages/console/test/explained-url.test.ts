import t from 'tap'
import { parseExplainedUrl } from '../server/explained-url.ts'

const EDGE = 'https://edge.example:55000'
const V3 = [{ contract: 'v3', url: EDGE }] as const
const BOTH = [...V3, { contract: 'v4', url: 'https://edge.example:55002' }] as const
const parse = (text: string) => parseExplainedUrl(text, V3)

t.test('a path and a full URL of this edge are taken as they are', async (t) => {
  const same: readonly (readonly [string, string])[] = [
    ['/agents?limit=3', '/agents?limit=3'],
    ['  /agents?limit=3\n', '/agents?limit=3'],
    [`${EDGE}/agents?limit=3`, '/agents?limit=3'],
    ['HTTPS://EDGE.example:55000/agents', '/agents'],
    ['edge.example:55000/agents?limit=3', '/agents?limit=3'],
    [EDGE, '/'],
    [`${EDGE}?limit=3`, '/?limit=3'],
    [`"${EDGE}/agents"`, '/agents'],
    ['/experimental/syscollector/os?limit=5#worker-1', '/experimental/syscollector/os?limit=5#worker-1'],
    ['/agents#*', '/agents#*'],
    ['/agents?q=name%3Dweb%20server', '/agents?q=name%3Dweb%20server'],
    ['GET /agents?limit=3 HTTP/1.1', '/agents?limit=3'],
    [`GET ${EDGE}/agents`, '/agents'],
  ]
  for (const [text, target] of same) t.strictSame(parse(text), { target, notes: [] }, text)
})

t.test('the host of another server is named, and the answer is that of this edge', async (t) => {
  const { target, notes } = parse('https://manager.example:55000/agents?limit=3')
  t.equal(target, '/agents?limit=3')
  t.strictSame(notes, [
    'https://manager.example:55000 is not the address of this edge (https://edge.example:55000). The answer is that of this edge.',
  ])
  t.match(parse('http://edge.example:55000/agents').notes, [/^http:\/\/edge\.example:55000 is not/], 'another scheme')
  t.match(parse('manager:55000/agents').notes, [/^manager:55000 is not/], 'without a scheme')
  t.strictSame(
    parseExplainedUrl('https://edge.example/agents', [{ contract: 'v3', url: 'https://edge.example:443' }]).notes,
    [],
    'default port',
  )
})

t.test('user and password in a URL appear nowhere', async (t) => {
  const parsed = parse('https://operator:s3cret@other.example:55000/agents')
  t.equal(parsed.target, '/agents')
  t.notMatch(JSON.stringify(parsed), 's3cret')
})

t.test(
  'spaces and other characters that no URL contains are percent-encoded, and the operator is told so',
  async (t) => {
    const found: readonly (readonly [string, string])[] = [
      ['/agents?search=web server', '/agents?search=web%20server'],
      [`${EDGE}/agents?search=Büro`, '/agents?search=B%C3%BCro'],
      ['/agents?q=name="a"', '/agents?q=name=%22a%22'],
      ['/agents?search=100%', '/agents?search=100%25'],
    ]
    for (const [text, target] of found) {
      const parsed = parse(text)
      t.equal(parsed.target, target)
      t.match(parsed.notes, [/percent-encoded/], text)
    }
  },
)

t.test('a URL that is percent-encoded as a whole is decoded once', async (t) => {
  for (const text of [encodeURIComponent(`${EDGE}/agents?limit=3`), encodeURIComponent('/agents?limit=3')]) {
    const { target, notes } = parse(text)
    t.equal(target, '/agents?limit=3')
    t.match(notes, [/decoded once/])
  }
  t.equal(parse(encodeURIComponent('/agents?search=a%20b')).target, '/agents?search=a%20b')
  t.throws(() => parse('%2Fagents%ZZ'), /not valid percent-encoding/)
})

t.test('a path without its slash gets one', async (t) => {
  const { target, notes } = parse('agents/001')
  t.equal(target, '/agents/001')
  t.match(notes, [/begins with/])
})

t.test('what is no GET of a URL is refused with the reason', async (t) => {
  t.throws(() => parse('DELETE /agents/001'), /Only responses to GET/)
  t.throws(() => parse('ftp://edge.example/agents'), /http or https/)
  t.throws(() => parse('https://edge.example:port/agents'), /not a valid host/)
})

t.test('the port of a URL, or a prefix, names the contract', async (t) => {
  const found: readonly (readonly [string, string])[] = [
    ['/agents', '/agents'],
    ['v4:/agents?limit=3', 'v4:/agents?limit=3'],
    ['GET v4:/agents/:agent_id', 'v4:/agents/:agent_id'],
    ['v4%3A%2Fagents', 'v4:/agents'],
    ['v3:/agents', '/agents'],
    ['https://edge.example:55002/agents?limit=3', 'v4:/agents?limit=3'],
    ['edge.example:55002/agents', 'v4:/agents'],
    [`${EDGE}/agents`, '/agents'],
  ]
  for (const [text, target] of found) t.equal(parseExplainedUrl(text, BOTH).target, target, text)
  t.match(parseExplainedUrl('https://other.example/agents', BOTH), {
    target: '/agents',
    notes: [/is not the address of this edge \(.*55000, .*55002\)/, /give v4: and the path/],
  })
  const v4Only = BOTH.slice(1)
  t.equal(parseExplainedUrl('/agents', v4Only).target, 'v4:/agents', 'the only contract of the edge')
})
