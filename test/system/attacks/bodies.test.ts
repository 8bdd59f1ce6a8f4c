import t from 'tap'
import { alive, holds, type Row, stage } from './rows.ts'

const JSON_TYPE = { 'Content-Type': 'application/json' }
const XML_TYPE = { 'Content-Type': 'application/xml' }
const agents = (body: string | Buffer): Pick<Row, 'method' | 'path' | 'headers' | 'body'> => ({
  method: 'POST',
  path: '/agents',
  headers: JSON_TYPE,
  body,
})
const upload = (body: string | Buffer): Pick<Row, 'method' | 'path' | 'headers' | 'body'> => ({
  method: 'POST',
  path: '/manager/files?path=etc/rules/x.xml',
  headers: XML_TYPE,
  body,
})
const typed = (type: string, extra: Record<string, string> = {}) => ({
  ...agents('{"name":"x"}'),
  headers: { 'Content-Type': type, ...extra },
})

const types: readonly Row[] = [
  { id: 'H21', what: 'two types in one', ...typed('application/json, text/plain'), status: 400, error: 607 },
  { id: 'H22', what: 'an unknown charset', ...typed('application/json; charset=foo'), status: 400, error: 607 },
  { id: 'H22', what: 'another charset', ...typed('application/json; charset=utf-16'), status: 400, error: 607 },
  { id: 'H23', what: 'brotli', ...typed('application/json', { 'Content-Encoding': 'br' }), status: 415, error: 914 },
  { id: 'H23', what: 'gzip', ...typed('application/json', { 'Content-Encoding': 'gzip' }), status: 415, error: 914 },
  {
    id: 'H23',
    what: 'an unknown encoding',
    ...typed('application/json', { 'Content-Encoding': 'foo' }),
    status: 415,
    error: 914,
  },
  {
    id: 'H24',
    what: '1,100 form fields',
    ...typed('application/x-www-form-urlencoded'),
    body: 'a=1&'.repeat(1100),
    status: 400,
    error: 607,
  },
  { id: 'H25', what: 'a tab in the type', ...typed('application/json\ta'), status: 400, error: 607 },
  { id: 'H25', what: 'garbage behind the type', ...typed('application/json garbage'), status: 400, error: 607 },
  { id: 'H25', what: 'a foreign type', ...typed('text/plain'), status: 400, error: 607 },
  { id: 'J08', what: 'XML for JSON', ...typed('application/xml'), status: 400, error: 607 },
  {
    id: 'J08',
    what: 'a form for a file',
    ...upload('a=b'),
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    status: 400,
    error: 804,
  },
]

const bodies: readonly Row[] = [
  { id: 'J01', what: '__proto__', ...agents('{"__proto__":{"x":1},"name":"a"}'), status: 400, error: 614 },
  { id: 'J01', what: 'constructor', ...agents('{"constructor":{"prototype":{}},"name":"a"}'), status: 400, error: 614 },
  {
    id: 'J01',
    what: '__proto__ in escapes',
    ...agents('{"\\u005f_proto__":{"x":1},"name":"a"}'),
    status: 400,
    error: 614,
  },
  { id: 'J02', what: 'a name twice', ...agents('{"name":"a","name":"b"}'), status: 400, error: 614 },
  {
    id: 'J02',
    what: 'a name twice, once in escapes',
    ...agents('{"name":"a","n\\u0061me":"b"}'),
    status: 400,
    error: 614,
  },
  { id: 'J04', what: 'not UTF-8', ...agents(Buffer.from('{"name":"\xff\xfe"}', 'latin1')), status: 400, error: 614 },
  {
    id: 'J04',
    what: 'a form that is not UTF-8',
    ...agents(Buffer.from('command=x&arguments=a\xff', 'latin1')),
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    method: 'PUT',
    path: '/active-response/001',
    status: 400,
    error: 614,
  },
  { id: 'J04', what: 'half a surrogate pair', ...agents('{"name":"\\ud800"}'), status: 400, error: 614 },
  { id: 'J04', what: 'a number', ...agents('1'), status: 400, error: 614 },
  { id: 'J04', what: 'null', ...agents('null'), status: 400, error: 614 },
  { id: 'J04', what: 'a list', ...agents('[]'), status: 400, error: 614 },
  { id: 'J04', what: 'nothing', ...agents(''), status: 400, error: 604 },
  { id: 'J04', what: 'half an object', ...agents('{"name":"a"'), status: 400, error: 614 },
  { id: 'J06', what: 'a list as a name', ...agents('{"name":["a"]}'), status: 400, error: 601 },
  { id: 'J06', what: 'null as a name', ...agents('{"name":null}'), status: 400, error: 601 },
  { id: 'J06', what: 'a text in place of a number', ...agents('{"name":"a","force":"1e3"}'), status: 400, error: 600 },
  { id: 'J06', what: 'a list in place of a number', ...agents('{"name":"a","force":[1]}'), status: 400, error: 600 },
  { id: 'J06', what: 'a text as ids', ...agents('{"ids":"all"}'), path: '/agents/restart', status: 400, error: 616 },
  { id: 'J06', what: 'a fraction as id', ...agents('{"ids":[1.5]}'), path: '/agents/restart', status: 400, error: 616 },
  { id: 'J06', what: 'lists as ids', ...agents('{"ids":[["001"]]}'), path: '/agents/restart', status: 400, error: 616 },
  {
    id: 'J06',
    what: 'a text as arguments',
    ...agents('{"command":"x","arguments":"a;b"}'),
    method: 'PUT',
    path: '/active-response/001',
    status: 400,
  },
  {
    id: 'J07',
    what: 'a deserialiser’s key',
    ...agents('{"__unhandled_exc__":{"__class__":"os.system"}}'),
    status: 400,
    error: 614,
  },
  {
    id: 'J07',
    what: 'a deserialiser’s key below',
    ...agents('{"command":"x","arguments":[{"__class__":"x"}]}'),
    method: 'PUT',
    path: '/active-response/001',
    status: 400,
    error: 614,
  },
  {
    id: 'J09',
    what: '100,000 levels',
    ...agents(`{"name":${'['.repeat(50_000)}${']'.repeat(49_000)}}`),
    status: 400,
    error: 614,
    within: 1000,
  },
  {
    id: 'J09',
    what: 'a hundred kilobytes and one',
    ...agents(`{"name":"${'a'.repeat(102_400)}"}`),
    status: 400,
    error: 701,
  },
  { id: 'J10', what: 'a name of 300 characters', ...agents(`{"name":"${'a'.repeat(300)}"}`), status: 400, error: 601 },
  { id: 'J10', what: 'an invalid address', ...agents('{"name":"a","ip":"999.1.1.1"}'), status: 400, error: 606 },
  { id: 'J10', what: 'an unknown field', ...agents('{"name":"a","x":1}'), status: 400, error: 604 },
]

const lols = '<!ENTITY a "lol">'
const files: readonly Row[] = [
  { id: 'X01', what: 'a DOCTYPE', ...upload('<!DOCTYPE a><a/>'), status: 400, error: 703, within: 1000 },
  {
    id: 'X01',
    what: 'an external entity',
    ...upload('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'),
    status: 400,
    error: 703,
  },
  {
    id: 'X01',
    what: 'billion laughs',
    ...upload(`<!DOCTYPE a [${lols.repeat(10)}]><a>&a;</a>`),
    status: 400,
    error: 703,
  },
  {
    id: 'X01',
    what: 'a parameter entity',
    ...upload('<!DOCTYPE a [<!ENTITY % x SYSTEM "http://127.0.0.1:1/"> %x;]><a/>'),
    status: 400,
    error: 703,
  },
  { id: 'X01', what: 'a processing instruction', ...upload('<?php echo 1 ?><a></a>'), status: 400, error: 703 },
  { id: 'X01', what: 'UTF-7', ...upload('<?xml version="1.0" encoding="UTF-7"?><a></a>'), status: 400, error: 703 },
  { id: 'X01', what: 'UTF-16', ...upload(Buffer.from('\ufeff<a></a>', 'utf16le')), status: 400, error: 703 },
  {
    id: 'X01',
    what: 'a DOCTYPE in a second document',
    ...upload('<a></a><!doctype b [<!ENTITY x "y">]><b></b>'),
    status: 400,
    error: 703,
  },
  {
    id: 'X02',
    what: 'more than the limit',
    ...upload(`<a>${'x'.repeat(10 * 1024 * 1024)}</a>`),
    status: 400,
    error: 701,
  },
  { id: 'X02', what: '100,000 levels', ...upload('<a>'.repeat(100_000)), status: 400, error: 703, within: 2000 },
  {
    id: 'X02',
    what: 'an attribute of a megabyte',
    ...upload(`<a b="${'x'.repeat(1_000_000)}"></a>`),
    status: 400,
    error: 703,
  },
  {
    id: 'X02',
    what: 'more attributes than the limit',
    ...upload(`<a ${Array.from({ length: 1001 }, (_, at) => `a${at}="x"`).join(' ')}></a>`),
    status: 400,
    error: 703,
  },
  {
    id: 'X07',
    what: 'a rule that calls itself a list, to be checked as one',
    ...upload('<!DOCTYPE x [<!ENTITY a "b:c">]><x>&a;</x>'),
    headers: { 'Content-Type': 'application/octet-stream' },
    status: 400,
    error: 703,
  },
  {
    id: 'X07',
    what: 'the configuration that calls itself a list',
    ...upload('a:b\n'),
    headers: { 'Content-Type': 'application/octet-stream' },
    path: '/cluster/worker-1/files?path=etc/ossec.conf&overwrite=true',
    status: 400,
    error: 703,
  },
  {
    id: 'X07',
    what: 'a list that calls itself XML',
    ...upload('<a></a>'),
    path: '/manager/files?path=etc/lists/x',
    status: 400,
    error: 705,
  },
  { id: 'X03', what: 'nothing', ...upload(''), status: 400, error: 703 },
  { id: 'X03', what: 'a comment only', ...upload('<!-- x -->'), status: 400, error: 703 },
  { id: 'X03', what: 'text before the first element', ...upload('x<a></a>'), status: 400, error: 703 },
  { id: 'X03', what: 'an element left open', ...upload('<a><b></a>'), status: 400, error: 703 },
  { id: 'X03', what: 'an attribute without quotes', ...upload('<a b=c></a>'), status: 400, error: 703 },
  {
    id: 'X05',
    what: 'a list without colons',
    ...upload('nocolon\nx'),
    headers: { 'Content-Type': 'application/octet-stream' },
    path: '/manager/files?path=etc/lists/x',
    status: 400,
    error: 705,
  },
  {
    id: 'X05',
    what: 'a list with two colons',
    ...upload('a:b:c\n'),
    headers: { 'Content-Type': 'application/octet-stream' },
    path: '/manager/files?path=etc/lists/x',
    status: 400,
    error: 705,
  },
]

const served: readonly Row[] = [
  {
    id: 'H26',
    what: 'a charset',
    ...agents('{"name":"h26-a","ip":"any"}'),
    headers: { 'Content-Type': 'application/json;charset=utf-8' },
    status: 200,
    reaches: true,
  },
  {
    id: 'H26',
    what: 'capitals',
    ...agents('{"name":"h26-b","ip":"any"}'),
    headers: { 'Content-Type': 'Application/JSON' },
    status: 200,
    reaches: true,
  },
  { id: 'J04', what: 'a byte order mark', ...agents('\ufeff{"name":"j04","ip":"any"}'), status: 200, reaches: true },
  {
    id: 'X06',
    what: 'several elements and a bare ampersand',
    ...upload('<?xml version="1.0"?><a>x & y</a><b></b>'),
    status: 200,
    reaches: true,
  },
  {
    id: 'X06',
    what: 'a comment in CDATA, entities on the border of two slices',
    ...upload(`<!-- a - b --><a><![CDATA[<!-- ]]>${'x'.repeat(64 * 1024 - 40)}${'&amp;'.repeat(20)}</a>`),
    path: '/manager/files?path=etc/rules/y.xml',
    status: 200,
    reaches: true,
  },
]

t.test('bad bodies are rejected in the contract’s form and reach no node', async (t) => {
  const at = await stage()
  t.teardown(() => at.close())
  await t.test('types', async (t) => {
    for (const row of types) await holds(t, at, row)
  })
  await t.test('JSON and forms', async (t) => {
    for (const row of bodies) await holds(t, at, row)
  })
  await t.test('uploads', async (t) => {
    for (const row of files) await holds(t, at, row)
  })
  await t.test('unusual but valid bodies are forwarded in the form of the manager', async (t) => {
    for (const row of served) {
      const calls = at.simulator.seen.length
      await holds(t, at, row)
      const type = at.simulator.seen[calls]?.headers['content-type']
      t.match(type, /^application\/(?:json|xml)$/, 'without parameters')
    }
  })
  t.ok(await alive(at))
})
