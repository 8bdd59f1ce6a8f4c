import t from 'tap'
import { parseExplainedUrl } from '../../../src/admin/console/explained-url.ts'

const EDGE = 'https://edge.example:55000'
const CLASSIC = [{ contract: 'classic', url: EDGE }] as const
const BOTH = [...CLASSIC, { contract: 'newer', url: 'https://edge.example:55002' }] as const
const parse = (text: string) => parseExplainedUrl(text, CLASSIC)

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
    parseExplainedUrl('https://edge.example/agents', [{ contract: 'classic', url: 'https://edge.example:443' }]).notes,
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
    ['newer:/agents?limit=3', 'newer:/agents?limit=3'],
    ['GET newer:/agents/:agent_id', 'newer:/agents/:agent_id'],
    ['newer%3A%2Fagents', 'newer:/agents'],
    ['classic:/agents', '/agents'],
    ['https://edge.example:55002/agents?limit=3', 'newer:/agents?limit=3'],
    ['edge.example:55002/agents', 'newer:/agents'],
    [`${EDGE}/agents`, '/agents'],
  ]
  for (const [text, target] of found) t.equal(parseExplainedUrl(text, BOTH).target, target, text)
  t.match(parseExplainedUrl('https://other.example/agents', BOTH), {
    target: '/agents',
    notes: [/is not the address of this edge \(.*55000, .*55002\)/, /give newer: and the path/],
  })
  const newerOnly = BOTH.slice(1)
  t.equal(parseExplainedUrl('/agents', newerOnly).target, 'newer:/agents', 'the only contract of the edge')
})
