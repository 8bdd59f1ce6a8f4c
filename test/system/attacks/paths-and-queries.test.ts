import t from 'tap'
import { alive, holds, type Row, stage } from './rows.ts'

const long = (length: number, of = 'a') => of.repeat(length)

const paths: readonly Row[] = [
  { id: 'P01', what: 'an encoded slash', path: '/agents/001%2Fkey', status: 400, error: 600 },
  { id: 'P01', what: 'an encoded slash, lower case', path: '/agents/001%2fkey', status: 400, error: 600 },
  { id: 'P02', what: 'encoded steps up', path: '/agents/..%2f..%2fmanager', status: 400, error: 600 },
  { id: 'P02', what: 'encoded dots', path: '/agents/%2e%2e', status: 400, error: 600 },
  { id: 'P02', what: 'dots', path: '/agents/../manager/info', status: [400, 404] },
  { id: 'P02', what: 'dots as a group', path: '/agents/groups/..', status: 400, error: 601 },
  { id: 'P02', what: 'encoded dots as a node', path: '/cluster/%2e%2e/info', status: 400, error: 601 },
  { id: 'P02', what: 'a backslash', path: '/agents/..%5c..%5cmanager', status: 400, error: 600 },
  { id: 'P02', what: 'a NUL', path: '/agents/001%00', status: 400, error: 600 },
  { id: 'P02', what: 'a line feed in a name', path: '/agents/name/a%0ab', status: 400, error: 601 },
  { id: 'P03', what: 'an invalid escape', path: '/agents/%zz', status: 400, error: 614 },
  { id: 'P03', what: 'bytes that are not UTF-8', path: '/agents/name/%ff%fe', status: 400 },
  { id: 'P07', what: 'an agent id of 101 digits', path: `/agents/${long(101, '1')}`, status: 400, error: 600 },
  {
    id: 'P07',
    what: 'a name of 7,000 characters',
    path: `/agents/name/${long(7000)}`,
    status: 400,
    error: 601,
    within: 1000,
  },
  { id: 'P07', what: 'a URL of 10,000 characters', path: `/agents/name/${long(10_000)}`, status: 414 },
  { id: 'P08', what: 'an address as a node', path: '/cluster/169.254.169.254/info', status: 200, error: 3022 },
  { id: 'P08', what: 'a port as a node', path: '/cluster/localhost:6379/info', status: 400, error: 601 },
  { id: 'P08', what: '__proto__ as a node', path: '/cluster/__proto__/status', status: 200, error: 3022 },
  { id: 'P08', what: 'constructor as a node', path: '/cluster/constructor/status', status: 200, error: 3022 },
  { id: 'P09', what: 'an unknown path', path: '/nope', status: 404, error: 603 },
  {
    id: 'P09',
    what: 'a method that a path does not have',
    method: 'DELETE',
    path: '/version',
    status: 404,
    error: 603,
  },
  { id: 'P09', what: 'two slashes', path: '//', status: 404, error: 603 },
  { id: 'P09', what: 'two slashes in front', path: '//agents?limit=1', status: 404, error: 603 },
  { id: 'P09', what: 'three slashes in front', path: '///agents/001', status: 404, error: 603 },
  ...['PUT /agents//restart', 'PUT //agents/restart', 'PUT /cluster//restart', 'DELETE /rootcheck//'].map(
    (line): Row => {
      const [method = '', path = ''] = line.split(' ')
      return { id: 'P10', what: `an id that is missing: ${line}`, method, path, status: 404, error: 603 }
    },
  ),
  {
    id: 'P09',
    what: 'a target in absolute form, while all hosts are served',
    path: 'http://any.example/agents?limit=1',
    status: 200,
    reaches: true,
  },
  { id: 'P09', what: 'a user in the target', path: 'http://any@evil.example/agents', status: 400, error: 900 },
  { id: 'P09', what: 'an absolute form of another scheme', path: 'file:///agents', status: 400, error: 900 },
]

const queries: readonly Row[] = [
  { id: 'Q01', what: 'a number twice', path: '/agents?limit=1&limit=2', status: 400, error: 600 },
  { id: 'Q01', what: 'brackets', path: '/agents?status[]=x', status: 400, error: 604 },
  { id: 'Q01', what: 'named brackets', path: '/agents?status[x]=x', status: 400, error: 604 },
  { id: 'Q02', what: '__proto__', path: '/agents?__proto__=1', status: 400, error: 604 },
  { id: 'Q02', what: 'constructor', path: '/agents?constructor=1', status: 400, error: 604 },
  { id: 'Q02', what: 'hasOwnProperty', path: '/agents?hasOwnProperty=1', status: 400, error: 604 },
  { id: 'Q04', what: 'a negative limit', path: '/agents?limit=-1', status: 400, error: 600 },
  { id: 'Q04', what: 'limit 0', path: '/agents?limit=0', status: 200, error: 1406 },
  { id: 'Q04', what: 'limit 1001', path: '/agents?limit=1001', status: 200, error: 1405 },
  { id: 'Q04', what: 'an exponent', path: '/agents?limit=1e3', status: 400, error: 600 },
  { id: 'Q04', what: 'a hexadecimal number', path: '/agents?limit=0x10', status: 400, error: 600 },
  { id: 'Q04', what: 'twenty digits', path: '/agents?limit=99999999999999999999', status: 400, error: 600 },
  { id: 'Q04', what: 'wide digits', path: '/agents?limit=%EF%BC%91%EF%BC%92', status: 400, error: 600 },
  { id: 'Q06', what: 'a bad escape in a value', path: '/agents?name=%zz', status: 400, error: 609 },
  { id: 'Q06', what: 'a bad escape in a name', path: '/agents?%zz=1', status: 400, error: 604 },
  { id: 'Q06', what: '1,500 parameters', path: `/agents?${long(1500, 'a&')}`, status: 400, error: 604 },
  { id: 'Q06', what: 'a value of 7 kB', path: `/agents?search=${long(7000)}`, status: 400, error: 612 },
  {
    id: 'Q07',
    what: 'q of 7,000 brackets',
    path: `/agents?q=${long(7000, '(')}`,
    status: 400,
    error: 622,
    within: 1000,
  },
  {
    id: 'Q07',
    what: 'q of 7,000 hyphens',
    path: `/agents?q=${long(7000, '-')}`,
    status: 400,
    error: 622,
    within: 1000,
  },
  { id: 'Q07', what: 'q of 33 conditions', path: `/agents?q=${long(32, 'id=1;')}id=1`, status: 400, error: 622 },
  { id: 'Q07', what: 'q with brackets left open', path: '/agents?q=(id=1', status: 400, error: 622 },
  { id: 'Q08', what: 'a line feed in search', path: '/agents?search=a%0Ab', status: 400, error: 612 },
  { id: 'Q08', what: 'a line end of Unicode in search', path: '/agents?search=a%C2%85b', status: 400, error: 612 },
  { id: 'Q08', what: 'a line separator in search', path: '/agents?search=a%E2%80%A8b', status: 400, error: 612 },
  { id: 'Q08', what: 'a shell in search', path: '/agents?search=a;b', status: 400, error: 612 },
  { id: 'Q09', what: 'a shell in a hash', path: '/syscheck/001?hash=%3B%20rm%20-rf%20/', status: 400, error: 613 },
  {
    id: 'Q09',
    what: 'a boolean with a tail',
    path: '/manager/files?path=etc/rules/a.xml&validation=trueXXX',
    status: 400,
    error: 618,
  },
  { id: 'Q09', what: 'a list by brackets', path: '/agents?select[]=id', status: 400, error: 604 },
  {
    id: 'Q12',
    what: 'a repository at a metadata address',
    method: 'PUT',
    path: '/agents/001/upgrade?wpk_repo=http://169.254.169.254/',
    status: 400,
    error: 608,
  },
  {
    id: 'Q12',
    what: 'a repository beside the allowed one',
    method: 'PUT',
    path: '/agents/001/upgrade?wpk_repo=packages.wazuh.com/wpk/../../x',
    status: 400,
    error: 608,
  },
  {
    id: 'Q12',
    what: 'a package outside the installation',
    method: 'PUT',
    path: '/agents/001/upgrade_custom?file_path=/etc/passwd&installer=x.sh',
    status: 400,
    error: 608,
  },
  {
    id: 'Q12',
    what: 'a package by steps up',
    method: 'PUT',
    path: '/agents/001/upgrade_custom?file_path=/var/ossec/../../etc/passwd&installer=x.sh',
    status: 400,
    error: 608,
  },
  {
    id: 'Q13',
    what: 'a file outside the folders',
    path: '/manager/files?path=etc/client.keys',
    status: 400,
    error: 704,
  },
  {
    id: 'Q13',
    what: 'a file by steps up',
    path: '/manager/files?path=etc/rules/../client.keys',
    status: 400,
    error: 704,
  },
  { id: 'Q13', what: 'a file by steps up, last', path: '/manager/files?path=etc/lists/..', status: 400, error: 704 },
  { id: 'Q13', what: 'an absolute file', path: '/manager/files?path=/etc/passwd', status: 400, error: 704 },
  { id: 'Q13', what: 'a NUL in a file', path: '/manager/files?path=etc/rules/a%00.xml', status: 400, error: 608 },
  { id: 'Q13', what: 'no file at all', path: '/manager/files', status: 400, error: 706 },
  { id: 'Q14', what: 'a child without its section', path: '/manager/configuration?field=x', status: 400, error: 604 },
  { id: 'Q14', what: 'a removal without ids', method: 'DELETE', path: '/agents', status: 400, error: 604 },
]

const served: readonly Row[] = [
  { id: 'P04', what: 'mixed case', path: '/AgEnTs?limit=1', status: 200, reaches: true },
  { id: 'P05', what: 'two slashes in a read', path: '/agents//001', status: 200, reaches: true },
  {
    id: 'P05',
    what: 'two slashes in the query of a write',
    method: 'DELETE',
    path: '/cache?x=//',
    status: 200,
  },
  { id: 'P05', what: 'a final slash', path: '/agents/?limit=1', status: 200, reaches: true },
  { id: 'Q01', what: 'a list twice', path: '/agents?status=active&status=pending&limit=1', status: 200, reaches: true },
  { id: 'Q06', what: 'a bad escape', path: '/agents?search=%zz%00', status: 200, reaches: true },
  { id: 'Q10', what: 'pretty twice', path: '/agents?pretty=1&pretty=2&limit=1', status: 200, reaches: true },
  { id: 'Q08', what: 'markup in search', path: '/agents?search=%3Cscript&limit=1', status: 200, reaches: true },
  { id: 'Q08', what: 'q with raw signs', path: '/agents?q=id>000;id<003&limit=1', status: 200, reaches: true },
]

t.test('bad paths and queries are rejected in the contract’s form and reach no node', async (t) => {
  const at = await stage()
  t.teardown(() => at.close())
  await t.test('paths', async (t) => {
    for (const row of paths) await holds(t, at, row)
  })
  await t.test('queries', async (t) => {
    for (const row of queries) await holds(t, at, row)
  })
  await t.test('unusual but valid requests are served', async (t) => {
    for (const row of served) await holds(t, at, row)
  })
  await t.test('names reach the node in one canonical form', async (t) => {
    const calls = at.simulator.seen.length
    await holds(t, at, { id: 'P06', what: 'an unpadded id', path: '/agents/1', status: 200, reaches: true })
    t.equal(at.simulator.seen[calls]?.url, '/agents/001')
  })
  await t.test('Q11: many calls without a time limit: one at a time, the others get Retry-After', async (t) => {
    await at.simulator.faults.set('master', { delay: 1500 })
    const row = { id: 'Q11', what: 'wait_for_complete', path: '/agents/001/key?wait_for_complete', status: 200 }
    const responses = await Promise.all(Array.from({ length: 40 }, () => at.send(row)))
    t.equal(responses.filter(({ status }) => status === 200).length, 1)
    const rejected = responses.filter(({ status }) => status === 429)
    t.equal(rejected.length, 39)
    t.ok(rejected.every(({ headers }) => Number(headers['retry-after']) >= 1))
    await at.simulator.faults.clear()
  })
  t.ok(await alive(at))
})
