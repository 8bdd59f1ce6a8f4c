import t from 'tap'
import { clientAddress, type FoundAddress } from '../../../src/http/client-address.ts'

const balancers = ['10.0.0.0/8', '192.0.2.7', 'fd00::/8']
const [XFF, FORWARDED] = ['X-Forwarded-For', 'Forwarded'] as const

const finder = (trusted: readonly string[]) => {
  const find = clientAddress(trusted)
  return (peer: string, list: string | undefined) => find(peer, list === undefined ? {} : { 'x-forwarded-for': list })
}

/** Expects the proxy, with a warning that names the header. */
const unread = (address: string): FoundAddress => ({ address, unreadable: XFF })

t.test('the address of the client is read from the right, as far as proxies are trusted', async (t) => {
  const find = finder(balancers)
  const rows: readonly (readonly [
    name: string,
    peer: string,
    list: string | undefined,
    client: string | FoundAddress,
  ])[] = [
    ['no proxy', '203.0.113.9', undefined, '203.0.113.9'],
    ['a header from an untrusted peer', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['one proxy', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['one proxy by its single address', '192.0.2.7', '198.51.100.1', '198.51.100.1'],
    ['its neighbour is not trusted', '192.0.2.8', '198.51.100.1', '192.0.2.8'],
    ['two proxies', '10.0.0.1', '198.51.100.1, 10.9.9.9', '198.51.100.1'],
    ['a forged beginning', '10.0.0.1', '1.2.3.4, 198.51.100.1', '198.51.100.1'],
    ['a forged trusted beginning', '10.0.0.1', '10.1.1.1, 198.51.100.1, 10.2.2.2', '198.51.100.1'],
    ['only proxies', '10.0.0.1', '10.0.0.2, 10.0.0.3', '10.0.0.2'],
    ['a trusted proxy without a header', '10.0.0.1', undefined, '10.0.0.1'],
    ['an empty header', '10.0.0.1', '', '10.0.0.1'],
    ['garbage', '10.0.0.1', 'unknown', unread('10.0.0.1')],
    ['garbage before a good one', '10.0.0.1', 'evil\t, 198.51.100.1', '198.51.100.1'],
    ['garbage behind a good one', '10.0.0.1', '198.51.100.1, evil', unread('10.0.0.1')],
    ['an address with a port', '10.0.0.1', '198.51.100.1:80', '198.51.100.1'],
    ['an address in brackets', '10.0.0.1', '[2001:db8::1]', '2001:db8::1'],
    ['a short form', '10.0.0.1', '127.1', unread('10.0.0.1')],
    ['a number', '10.0.0.1', '2130706433', unread('10.0.0.1')],
    ['octal', '10.0.0.1', '010.0.0.1', unread('10.0.0.1')],
    ['a range', '10.0.0.1', '198.51.100.0/24', unread('10.0.0.1')],
    ['a zone', '10.0.0.1', 'fe80::1%eth0', unread('10.0.0.1')],
    ['empty places', '10.0.0.1', '198.51.100.1,,', '198.51.100.1'],
    ['a port of 70000', '10.0.0.1', '198.51.100.1:700000', unread('10.0.0.1')],
    ['IPv4 in brackets', '10.0.0.1', '[198.51.100.1]', unread('10.0.0.1')],
    ['one quotation mark', '10.0.0.1', '"198.51.100.1', unread('10.0.0.1')],
    ['IPv6 is written in one way', '10.0.0.1', '2001:0DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['a mapped peer', '::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['a mapped client', '10.0.0.1', '::ffff:198.51.100.1', '198.51.100.1'],
    ['a mapped client in hexadecimal', '10.0.0.1', '::FFFF:c633:6401', '198.51.100.1'],
    ['an IPv6 proxy', 'fd00::1', '198.51.100.1', '198.51.100.1'],
    ['another IPv6 peer', '2001:db8::1', '198.51.100.1', '2001:db8::1'],
  ]
  for (const [name, peer, list, client] of rows)
    t.strictSame(find(peer, list), typeof client === 'string' ? { address: client } : client, name)
})

t.test('Forwarded counts without X-Forwarded-For, and a client cannot change what the proxy wrote', async (t) => {
  const find = clientAddress(balancers)
  const rows: readonly (readonly [forwarded: string, client: string | undefined])[] = [
    ['for=198.51.100.1', '198.51.100.1'],
    ['For="[2001:DB8::1]:4711";proto=https;by=10.0.0.1', '2001:db8::1'],
    ['proto=https; for=198.51.100.1:80 ;host="a;b"', undefined],
    ['proto=https; for=198.51.100.1:80 ;host=edge.example', '198.51.100.1'],
    ['for="198.51.100.1:_secret"', '198.51.100.1'],
    ['for=6.6.6.6, for=198.51.100.1, for=10.0.0.9', '198.51.100.1'],
    ['for="6.6.6.6, for=198.51.100.1', '198.51.100.1'],
    ['for="6.6.6.6, for="198.51.100.1"', '198.51.100.1'],
    ['for=unknown', undefined],
    ['for=_hidden', undefined],
    ['by=198.51.100.1', undefined],
    ['for=198.51.100.1;for=6.6.6.6', undefined],
    ['for=', undefined],
    ['198.51.100.1', undefined],
  ]
  for (const [forwarded, client] of rows) {
    const expected = client === undefined ? { address: '10.0.0.1', unreadable: FORWARDED } : { address: client }
    t.strictSame(find('10.0.0.1', { forwarded }), expected, forwarded)
    t.strictSame(find('203.0.113.9', { forwarded }), { address: '203.0.113.9' }, `${forwarded}, no proxy`)
    const both = { forwarded, 'x-forwarded-for': '198.51.100.77' }
    t.strictSame(find('10.0.0.1', both), { address: '198.51.100.77' }, `${forwarded}, beside the other header`)
  }
})

/** A small generator of random numbers: the same for each run. */
function randomOf(seed: number) {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Spellings of one address, the canonical one first; `trusted`: it is a balancer. */
const addresses: readonly { readonly trusted: boolean; readonly texts: readonly [string, ...string[]] }[] = [
  { trusted: false, texts: ['198.51.100.7', '::ffff:198.51.100.7', '::FFFF:C633:6407'] },
  { trusted: false, texts: ['203.0.113.250'] },
  { trusted: false, texts: ['2001:db8::7', '2001:0DB8:0:0::7', '2001:DB8:0:0:0:0:0:7'] },
  { trusted: true, texts: ['10.1.2.3', '::ffff:10.1.2.3'] },
  { trusted: true, texts: ['192.0.2.7'] },
  { trusted: true, texts: ['fd00::9', 'FD00:0:0::9'] },
]
const unreadable = ['unknown', '_hidden', '10.0.0', '300.1.1.1', 'evil', '1.2.3.4:port', '[::1', 'fe80::1%eth0', 'a b']
const ports = ['', ':0', ':80', ':53211', ':65535']
const spaces = ['', ' ', '\t', '  ']

t.test('all forms of both headers: the oracle is the list of addresses that the forms were made from', async (t) => {
  const find = clientAddress(balancers)
  const random = randomOf(20_261_127)
  const oneOf = <T>(values: readonly [T, ...T[]] | readonly T[]): T => values[random(values.length)] as T
  let wrong = 0
  for (let nth = 0; nth < 20_000; nth += 1) {
    const kind = oneOf([XFF, FORWARDED])
    /** From the client to the last proxy; a text without an address: it cannot be read. */
    const hops = Array.from({ length: random(5) }, () => (random(8) === 0 ? oneOf(unreadable) : oneOf(addresses)))
    const written = hops.map((hop) => {
      const text = typeof hop === 'string' ? hop : oneOf(hop.texts)
      const isPlain = typeof hop === 'string' || (!text.includes(':') && random(2) === 0)
      const port = typeof hop === 'string' ? '' : oneOf(ports)
      const node =
        text.includes(':') && !isPlain && (port !== '' || random(2) === 0)
          ? `[${text}]${port}`
          : `${text}${text.includes(':') ? '' : port}`
      if (kind === XFF) return random(6) === 0 && typeof hop !== 'string' ? `"${node}"` : node
      const value = node.includes(':') || random(2) === 0 ? `"${node}"` : node
      const others = [
        `${oneOf(['for', 'For', 'FOR'])}=${value}`,
        ...(random(2) ? ['proto=https'] : []),
        ...(random(2) ? ['by="[fd00::1]:8"'] : []),
      ]
      return (random(2) ? others : others.reverse()).join(oneOf([';', '; ', ' ;']))
    })
    // Several lines of one header are joined by Node, and lists may have empty elements.
    const list = written.map((text) => `${oneOf(spaces)}${text}${oneOf(spaces)}${oneOf(['', '', ','])}`).join(',')
    let expected: FoundAddress = { address: '10.0.0.1' }
    for (const hop of [...hops].reverse()) {
      if (typeof hop === 'string') {
        expected = { ...expected, unreadable: kind }
        break
      }
      expected = { address: hop.texts[0] }
      if (!hop.trusted) break
    }
    const found = find(
      oneOf(['10.0.0.1', '::ffff:10.0.0.1']),
      kind === XFF ? { 'x-forwarded-for': list } : { forwarded: list },
    )
    if (found.address === expected.address && found.unreadable === expected.unreadable) continue
    wrong += 1
    if (wrong < 10) t.strictSame(found, expected, `${kind}: ${list}`)
  }
  t.equal(wrong, 0)
})

t.test('without configured ranges no proxy is trusted', async (t) => {
  t.strictSame(finder([])('10.0.0.1', '198.51.100.1'), { address: '10.0.0.1' })
  t.strictSame(finder([])('127.0.0.1', '198.51.100.1'), { address: '127.0.0.1' })
})

t.test('CVE-2026-92395: an IPv6 range never trusts IPv4 addresses', async (t) => {
  for (const mapped of ['::ffff:10.0.0.0/8', '::ffff:a00:0/104', '0:0:0:0:0:ffff:0:0/96', '::ffff:10.0.0.1']) {
    t.throws(() => clientAddress([mapped]), { message: /IPv4 form/ }, mapped)
  }
  for (const range of ['::/0', '::/64', '::/80']) {
    const find = finder([range])
    t.strictSame(find('203.0.113.9', '1.2.3.4'), { address: '203.0.113.9' }, range)
    t.strictSame(find('::ffff:203.0.113.9', '1.2.3.4'), { address: '203.0.113.9' }, `${range}, mapped peer`)
  }
  const find = finder(['0.0.0.0/1'])
  t.strictSame(find('::1', '1.2.3.4'), { address: '::1' }, 'nor the other way round')
})

t.test('a text that is no range of addresses throws an error', async (t) => {
  for (const range of ['', 'balancer', '10.0.0.0/33', '10.0.0/8', 'fd00::/129', '10.0.0.0/x']) {
    t.throws(() => clientAddress([range]), range)
  }
})

t.test('a long X-Forwarded-For header is parsed quickly', async (t) => {
  const find = finder(balancers)
  t.strictSame(find('10.0.0.1', '10.0.0.2,'.repeat(1600)), { address: '10.0.0.2' })
  t.strictSame(find('10.0.0.1', `198.51.100.1${', 10.0.0.2'.repeat(1600)}`), { address: '198.51.100.1' })
  /** The shortest of ten measurements, so that other processes do not count. */
  const duration = (count: number) => {
    const header = `198.51.100.1${', 10.0.0.2'.repeat(count)}`
    const times = Array.from({ length: 10 }, () => {
      const begin = performance.now()
      find('10.0.0.1', header)
      return performance.now() - begin
    })
    return Math.min(...times)
  }
  const [short, long] = [duration(1600), duration(16_000)]
  t.ok(long < 50 * short, `ten times the length took ${(long / short).toFixed(1)} times as long`)
})
