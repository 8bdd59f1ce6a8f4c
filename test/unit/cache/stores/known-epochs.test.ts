import t from 'tap'
import { KnownEpochs } from '../../../../src/cache/stores/known-epochs.ts'
import { LocalTier } from '../../../../src/cache/stores/local-tier.ts'
import { storedResponse } from '../../../support/stored-response.ts'

const LOCAL_BYTES = 256 << 20
const body = Buffer.alloc(600)
const epochs = { generation: 'g', epochs: ['0~0', '0~0'], fenced: false }
const stored = storedResponse(body, { ttl: 1000 })

t.test('every entry of a local tier that a reload made 256 MiB is a hit without a call to Redis', async (t) => {
  let localBytes = 1 << 20
  const known = new KnownEpochs(() => localBytes)
  const tier = new LocalTier({ maxBytes: () => localBytes, elapsed: () => 0, epochs: known })
  localBytes = LOCAL_BYTES
  const tagsOf = (at: number) => [`agent:${at}`]
  let count = 0
  for (; tier.state.bytes < 0.99 * LOCAL_BYTES; count += 1) {
    const tags = tagsOf(count)
    const key = String(count).padStart(43, 'k')
    const info = { url: `/agents/${count}`, group: 'agents', endpoint: '/agents/:agent_id', scope: 'everyone', tags }
    known.endRead(known.beginRead([...tags, `key:${key}`]), epochs)
    tier.put(key, { stored, info, tags, generation: 'g', epochs: ['0~0/0~0'], fetchedAt: 0, expiresAt: 1e9 })
  }
  t.ok(count > 200_000, `${count} entries`)
  let hits = 0
  for (let at = 0; at < count; at += 1) if (tier.find(String(at).padStart(43, 'k'), tagsOf(at), 1)) hits += 1
  t.equal(hits, count)
})
