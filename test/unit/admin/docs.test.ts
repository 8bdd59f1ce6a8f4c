import t from 'tap'
import { exampleOf } from '../../../src/admin/docs/example.ts'
import { html } from '../../../src/admin/docs/html.ts'
import { docsPage } from '../../../src/admin/docs/page.ts'
import { operationId } from '../../../src/admin/openapi/paths.ts'
import type { Endpoint } from '../../../src/catalogue/endpoint.ts'
import { catalogue } from '../../../src/catalogue/index.ts'
import { kinds } from '../../../src/catalogue/schemas/kinds.ts'
import { startSimulator } from '../../../src/simulator/index.ts'
import { startEdge } from '../../support/edge.ts'

/** The part of the page about one endpoint, with the entities read again. */
function about(page: string, endpoint: Endpoint): string {
  const start = page.indexOf(`<article id="${operationId(endpoint)}">`)
  if (start < 0) return ''
  const part = page.slice(start, page.indexOf('</article>', start))
  return part.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&#39;', "'").replaceAll('&amp;', '&')
}

t.test('every endpoint stands there with all that its record says', async (t) => {
  const page = docsPage(catalogue, '1.2.3')
  for (const endpoint of catalogue) {
    const name = `${endpoint.method} ${endpoint.path}`
    const part = about(page, endpoint)
    const words = [
      endpoint.path,
      endpoint.summary,
      endpoint.permission === 'signedIn' ? 'everybody who is signed in' : endpoint.permission,
      ...(endpoint.secret === 'none' ? [] : ['secrets:read']),
      ...Object.keys(endpoint.params),
      ...Object.keys(endpoint.query),
      ...('body' in endpoint && endpoint.body?.kind === 'fields' ? Object.keys(endpoint.body.fields) : []),
      ...('cache' in endpoint
        ? 'never' in endpoint.cache
          ? ['never kept', endpoint.cache.never]
          : [endpoint.cache.group, ...endpoint.cache.tags]
        : endpoint.invalidates.flatMap((entry) => (typeof entry === 'string' ? [entry] : entry.tags))),
      'curl -u',
    ]
    const missing = words.filter((word) => !part.includes(word))
    t.strictSame(missing, [], name)
  }
  const ids = [...page.matchAll(/ id="([^"]+)"/g)].map((match) => match[1])
  t.equal(new Set(ids).size, ids.length, 'each id once')
  for (const [, anchor] of page.matchAll(/href="#([^"]+)"/g)) t.ok(ids.includes(anchor), `#${anchor} is there`)
})

t.test('nothing on it runs, and what is put into it stays text', async (t) => {
  const first = catalogue[0]
  if (first === undefined) return t.fail('an empty catalogue')
  const page = docsPage([{ ...first, summary: '<script>alert("x")</script>' }], '<b>')
  t.match(page, '&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;')
  for (const text of [page, docsPage(catalogue, '1.2.3')]) t.notMatch(text, /<script|\son\w+=|style=|javascript:|<b>/)
  t.equal(html`${"&<>'"}${[html`<p>${1}</p>`]}${false}`.markup, '&amp;&lt;&gt;&#39;<p>1</p>')
})

t.test('each example is one that the edge takes', async (t) => {
  const simulator = await startSimulator({ agents: 10, workers: 1, password: 'only-for-tests', username: 'edge' })
  t.teardown(() => simulator.close())
  const edge = await startEdge({
    nodes: simulator.nodes,
    settings: { access: { limits: { requests: 100_000 } } },
  })
  t.teardown(() => edge.close())
  const headers = { authorization: edge.authorization('admin') }
  for (const endpoint of catalogue.filter(({ method }) => method === 'GET')) {
    const answer = await fetch(edge.url + exampleOf(endpoint).url, { headers })
    const text = await answer.text()
    t.equal(answer.status, 200, `${endpoint.path} ${answer.status === 200 ? '' : text}`)
  }
  for (const endpoint of catalogue) {
    const { body } = exampleOf(endpoint)
    if (body === undefined || !('body' in endpoint) || endpoint.body?.kind !== 'fields') continue
    for (const [name, value] of Object.entries<unknown>(JSON.parse(body))) {
      const kind = endpoint.body.fields[name]?.kind
      const { pattern = '' } = kind === undefined ? {} : (kinds[kind] as { pattern?: string })
      for (const text of [value].flat()) t.match(String(text), new RegExp(pattern), `${endpoint.path} ${name}`)
    }
  }

  const ask = (path: string, init: RequestInit = { headers }) => fetch(edge.operationsUrl + path, init)
  const page = await ask('/docs')
  t.equal(page.status, 200)
  t.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  t.match(page.headers.get('content-security-policy'), /^default-src 'none'; style-src 'self'; base-uri 'none'/)
  t.notMatch(page.headers.get('content-security-policy'), /unsafe|script-src|\*/)
  t.equal((await page.text()).split('<article ').length - 1, catalogue.length)
  const style = await ask('/docs/style.css')
  t.equal(style.headers.get('content-type'), 'text/css; charset=utf-8')
  t.match(await style.text(), /color-scheme: light dark/)
  for (const path of ['/docs', '/docs/style.css']) {
    t.equal((await ask(path, {})).status, 401, 'behind the sign-in')
    t.equal((await ask(path, { headers: { authorization: edge.authorization('reader') } })).status, 403)
  }
})
