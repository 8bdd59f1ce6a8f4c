import t from 'tap'
import { clientAddress } from '../../../src/http/request-state.ts'

const balancers = ['10.0.0.0/8', '192.0.2.7', 'fd00::/8']

t.test('the address of the client is read from the right, as far as proxies are trusted', async (t) => {
  const find = clientAddress(balancers)
  const rows: readonly (readonly [name: string, peer: string, forwarded: string | undefined, client: string])[] = [
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
    ['garbage', '10.0.0.1', 'unknown', '10.0.0.1'],
    ['garbage before a good one', '10.0.0.1', 'evil\t, 198.51.100.1', '198.51.100.1'],
    ['garbage behind a good one', '10.0.0.1', '198.51.100.1, evil', '10.0.0.1'],
    ['an address with a port', '10.0.0.1', '198.51.100.1:80', '10.0.0.1'],
    ['an address in brackets', '10.0.0.1', '[2001:db8::1]', '10.0.0.1'],
    ['a short form', '10.0.0.1', '127.1', '10.0.0.1'],
    ['a number', '10.0.0.1', '2130706433', '10.0.0.1'],
    ['octal', '10.0.0.1', '010.0.0.1', '10.0.0.1'],
    ['a range', '10.0.0.1', '198.51.100.0/24', '10.0.0.1'],
    ['a zone', '10.0.0.1', 'fe80::1%eth0', '10.0.0.1'],
    ['empty places', '10.0.0.1', '198.51.100.1,,', '10.0.0.1'],
    ['IPv6 is written in one way', '10.0.0.1', '2001:0DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['a mapped peer', '::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['a mapped client', '10.0.0.1', '::ffff:198.51.100.1', '198.51.100.1'],
    ['a mapped client in hexadecimal', '10.0.0.1', '::FFFF:c633:6401', '198.51.100.1'],
    ['an IPv6 proxy', 'fd00::1', '198.51.100.1', '198.51.100.1'],
    ['another IPv6 peer', '2001:db8::1', '198.51.100.1', '2001:db8::1'],
  ]
  for (const [name, peer, forwarded, client] of rows) t.equal(find(peer, forwarded), client, name)
})

t.test('without configured ranges no proxy is trusted', async (t) => {
  t.equal(clientAddress([])('10.0.0.1', '198.51.100.1'), '10.0.0.1')
  t.equal(clientAddress([])('127.0.0.1', '198.51.100.1'), '127.0.0.1')
})

t.test('CVE-2026-92395: an IPv6 range never trusts IPv4 addresses', async (t) => {
  for (const mapped of ['::ffff:10.0.0.0/8', '::ffff:a00:0/104', '0:0:0:0:0:ffff:0:0/96', '::ffff:10.0.0.1']) {
    t.throws(() => clientAddress([mapped]), { message: /IPv4 form/ }, mapped)
  }
  for (const range of ['::/0', '::/64', '::/80']) {
    const find = clientAddress([range])
    t.equal(find('203.0.113.9', '1.2.3.4'), '203.0.113.9', range)
    t.equal(find('::ffff:203.0.113.9', '1.2.3.4'), '203.0.113.9', `${range}, mapped peer`)
  }
  const find = clientAddress(['0.0.0.0/1'])
  t.equal(find('::1', '1.2.3.4'), '::1', 'nor the other way round')
})

t.test('a text that is no range of addresses throws an error', async (t) => {
  for (const range of ['', 'balancer', '10.0.0.0/33', '10.0.0/8', 'fd00::/129', '10.0.0.0/x']) {
    t.throws(() => clientAddress([range]), range)
  }
})

t.test('a long X-Forwarded-For header is parsed quickly', async (t) => {
  const find = clientAddress(balancers)
  t.equal(find('10.0.0.1', '10.0.0.2,'.repeat(1600)), '10.0.0.1')
  t.equal(find('10.0.0.1', `198.51.100.1${', 10.0.0.2'.repeat(1600)}`), '198.51.100.1')
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
