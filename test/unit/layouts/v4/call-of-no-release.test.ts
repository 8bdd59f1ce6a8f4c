/** v4 layout: a v3 client gets 938 for a call that no release has, whatever the release of the node is. */
import t from 'tap'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { ask } from './recorded-node.ts'

const PATH = '/experimental/syscollector/hotfixes'
const request = edgeRequest('GET', PATH)
const { translation } = request.endpoint.contract === 'v3' ? request.endpoint : {}
if (translation === undefined) throw new Error(`GET ${PATH} has no translation`)
const endpoint = { ...request.endpoint, translation: { ...translation, releases: 'none' } } as const

for (const version of ['4.5.4', '4.14.0', '5.0.0', 'not a release'])
  t.test(`in front of ${version}`, async (t) => {
    const seen: string[] = []
    const asked = ask('GET', PATH, { ...({ endpoint } as object), version, seen })
    await t.rejects(asked, { code: 938, message: /master: no release since 4\.0 has GET .*\/hotfixes/ })
    t.strictSame(seen, [])
  })
