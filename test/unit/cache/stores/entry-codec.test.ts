import fc from 'fast-check'
import t from 'tap'
import { createEntryCodec } from '../../../../src/cache/stores/redis-entries.ts'

const key = Buffer.from('a key that Redis never sees')
const codecs = { plain: createEntryCodec(), sealed: createEntryCodec(key) }
const head = { status: 200, url: '/agents?select=näme' }

for (const [name, codec] of Object.entries(codecs)) {
  t.test(`${name}: decode returns what encode was given`, async (t) => {
    fc.assert(
      fc.property(fc.string(), fc.jsonValue(), fc.uint8Array({ maxLength: 5000 }), (at, head, body) => {
        const opened = codec.decode(at, codec.encode(at, head, Buffer.from(body)))
        return (
          opened !== undefined &&
          JSON.stringify(opened.head) === JSON.stringify(head) &&
          opened.body.equals(Buffer.from(body))
        )
      }),
    )
    t.pass()
  })

  t.test(`${name}: decode rejects garbage`, async (t) => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => !codec.decode('k', Buffer.from(bytes))))
    t.equal(codec.decode('k', Buffer.alloc(0)), undefined)
    t.equal(codec.decode('k', Buffer.from('ME')), undefined)
  })

  t.test(`${name}: decode detects each changed, missing or added byte`, async (t) => {
    const whole = codec.encode('k', head, Buffer.from('{"error":0}'))
    for (let at = 0; at < whole.length; at += 1) {
      const changed = Buffer.from(whole)
      changed[at] = (changed[at] ?? 0) ^ 1
      if (codec.decode('k', changed) !== undefined) t.fail(`byte ${at} changed`)
      if (codec.decode('k', whole.subarray(0, at)) !== undefined) t.fail(`cut at ${at}`)
    }
    t.equal(codec.decode('k', Buffer.concat([whole, Buffer.from([0])])), undefined)
  })

  t.test(`${name}: decode rejects bytes of another name`, async (t) => {
    t.equal(codec.decode('other', codec.encode('k', head, Buffer.from('x'))), undefined)
  })
}

t.test('an encrypted entry reveals nothing and is decoded with its key only', async (t) => {
  const bytes = codecs.sealed.encode('k', head, Buffer.from('canary in the body'))
  t.notMatch(bytes.toString('latin1'), /canary|agents/)
  t.equal(createEntryCodec(Buffer.from('another key')).decode('k', bytes), undefined)
  t.equal(codecs.plain.decode('k', bytes), undefined)
  t.equal(codecs.sealed.decode('k', codecs.plain.encode('k', head, Buffer.from('x'))), undefined)
})
