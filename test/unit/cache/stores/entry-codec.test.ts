import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { createEntryCodec } from '../../../../src/cache/stores/entry-codec.ts'
import { measureBestRun } from '../../../support/event-loop.ts'

/** CPU milliseconds: the bound of src/core/turns.ts. */
const MAX_TURN_MS = 20

const key = Buffer.from('a key that Redis never sees')
const codecs = { plain: createEntryCodec(), sealed: createEntryCodec(key) }
const head = { status: 200, url: '/agents?select=näme' }

for (const [name, codec] of Object.entries(codecs)) {
  t.test(`${name}: decode returns what encode was given`, async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.jsonValue(), fc.uint8Array({ maxLength: 5000 }), async (at, head, body) => {
        const opened = await codec.decode(at, await codec.encode(at, head, Buffer.from(body)))
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
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 400 }),
        async (bytes) => !(await codec.decode('k', Buffer.from(bytes))),
      ),
    )
    t.equal(await codec.decode('k', Buffer.alloc(0)), undefined)
    t.equal(await codec.decode('k', Buffer.from('ME')), undefined)
  })

  t.test(`${name}: decode detects each changed, missing or added byte`, async (t) => {
    const whole = await codec.encode('k', head, Buffer.from('{"error":0}'))
    for (let at = 0; at < whole.length; at += 1) {
      const changed = Buffer.from(whole)
      changed[at] = (changed[at] ?? 0) ^ 1
      if ((await codec.decode('k', changed)) !== undefined) t.fail(`byte ${at} changed`)
      if ((await codec.decode('k', whole.subarray(0, at))) !== undefined) t.fail(`cut at ${at}`)
    }
    t.equal(await codec.decode('k', Buffer.concat([whole, Buffer.from([0])])), undefined)
  })

  t.test(`${name}: decode rejects bytes of another name`, async (t) => {
    t.equal(await codec.decode('other', await codec.encode('k', head, Buffer.from('x'))), undefined)
  })
}

/** The head, and what is before it. */
const HEAD_BYTES = 1024

for (const [name, codec] of Object.entries(codecs)) {
  t.test(`${name}: a long body is encoded and decoded without a long turn`, async (t) => {
    const body = randomBytes(10 * 1024 * 1024)
    const encoded = await codec.encode('k', head, body)
    const opened = await codec.decode('k', encoded)
    t.strictSame(opened?.head, head)
    t.ok(opened?.body.equals(body))
    t.ok(Number(opened?.body.buffer.byteLength) < body.length + HEAD_BYTES, 'in memory of about its size')
    const short = await codec.decode(
      'k',
      Buffer.concat([await codec.encode('k', head, body.subarray(0, 1000)), body]).subarray(0, -body.length),
    )
    t.equal(short?.body.buffer.byteLength, 1000, 'a part of a larger reply is copied')
    const encoding = await measureBestRun(() => codec.encode('k', head, body), MAX_TURN_MS)
    t.ok(encoding < MAX_TURN_MS, `encoding: ${encoding.toFixed(1)} ms`)
    const decoding = await measureBestRun(() => codec.decode('k', encoded), MAX_TURN_MS)
    t.ok(decoding < MAX_TURN_MS, `decoding: ${decoding.toFixed(1)} ms`)
    encoded[encoded.length - 1] = (encoded.at(-1) ?? 0) ^ 1
    t.equal(await codec.decode('k', encoded), undefined, 'a changed byte')
  })
}

t.test('an encrypted entry reveals nothing and is decoded with its key only', async (t) => {
  const bytes = await codecs.sealed.encode('k', head, Buffer.from('canary in the body'))
  t.notMatch(bytes.toString('latin1'), /canary|agents/)
  t.equal(await createEntryCodec(Buffer.from('another key')).decode('k', bytes), undefined)
  t.equal(await codecs.plain.decode('k', bytes), undefined)
  t.equal(await codecs.sealed.decode('k', await codecs.plain.encode('k', head, Buffer.from('x'))), undefined)
})
