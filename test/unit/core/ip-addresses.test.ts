import { isIP } from 'node:net'
import t from 'tap'
import { normalizeAddress, parseAddressRange } from '../../../src/core/values.ts'

t.test('an IPv4-mapped IPv6 address is IPv4 in every spelling', async (t) => {
  for (const text of [
    '10.1.2.3',
    '::ffff:10.1.2.3',
    '::FFFF:10.1.2.3',
    '::ffff:a01:203',
    '0:0:0:0:0:ffff:a01:203',
    '0000:0000:0000:0000:0000:FFFF:0A01:0203',
    '0::ffff:10.1.2.3',
  ]) {
    t.equal(normalizeAddress(text), '10.1.2.3', text)
  }
})

t.test('an IPv6 address is compressed and in lower case', async (t) => {
  t.equal(normalizeAddress('2001:0DB8:0:0:0:0:FFFF:1'), '2001:db8::ffff:1')
  t.equal(normalizeAddress('2001:db8::ffff:1'), '2001:db8::ffff:1', 'ffff elsewhere than in bits 80 to 95 maps nothing')
  t.equal(normalizeAddress('::1'), '::1')
  t.equal(normalizeAddress('::'), '::')
})

t.test('text that is no address is refused', async (t) => {
  for (const text of [
    '',
    '10.0.0',
    '010.0.0.1',
    '10.0.0.256',
    '10.0.0.1:80',
    '10.0.0.0/8',
    'fe80::1%eth0',
    '[::1]',
    '::1]/@[',
    ':::',
    '1:2:3:4:5:6:7:8:9',
    'localhost',
    ' 10.0.0.1',
    '10.0.0.1\n',
  ]) {
    t.equal(normalizeAddress(text), undefined, JSON.stringify(text))
  }
})

t.test('Node agrees about what is an address', async (t) => {
  const texts = [
    '0.0.0.0',
    '255.255.255.255',
    '1.2.3.4.5',
    '1.2.3',
    '::ffff:1.2.3.256',
    '::1.2.3.4',
    '1::2::3',
    'a::',
    '::a',
  ]
  for (const text of texts) t.equal(normalizeAddress(text) !== undefined, isIP(text) !== 0, text)
})

t.test('an IPv4 range is written in IPv4 form, never IPv4-mapped', async (t) => {
  t.same(parseAddressRange('10.0.0.0/8'), { family: 'ipv4', address: '10.0.0.0', prefix: 8 })
  t.same(parseAddressRange('10.0.0.1'), { family: 'ipv4', address: '10.0.0.1', prefix: 32 })
  for (const text of [
    '::ffff:10.0.0.0/104',
    '::FFFF:a00:0/104',
    '0:0:0:0:0:ffff:a00:0/104',
    '::ffff:0:0/96',
    '::ffff:10.0.0.1',
  ])
    t.equal(parseAddressRange(text), undefined, text)
})

t.test('a range of plain IPv6 stays IPv6', async (t) => {
  t.same(parseAddressRange('2001:db8::ffff:1/128'), { family: 'ipv6', address: '2001:db8::ffff:1', prefix: 128 })
  t.same(parseAddressRange('FD00::/8'), { family: 'ipv6', address: 'fd00::', prefix: 8 })
  t.same(parseAddressRange('::/64'), { family: 'ipv6', address: '::', prefix: 64 })
  t.same(parseAddressRange('::1'), { family: 'ipv6', address: '::1', prefix: 128 })
})

t.test('text that is no range is refused', async (t) => {
  for (const text of [
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.0/-1',
    '10.0.0.0/1e1',
    'fd00::/129',
    '::ffff:10.0.0.0/8',
    '::ffff:10.0.0.0/95',
    '::ffff:10.0.0.0/129',
    'fe80::%eth0/10',
    '/8',
    'all',
  ]) {
    t.equal(parseAddressRange(text), undefined, text)
  }
})
