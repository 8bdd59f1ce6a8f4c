import { checkSync } from 'recheck'
import t from 'tap'
import { catalogue } from '../../../src/contracts/index.ts'
import { kinds } from '../../../src/contracts/schemas/kinds.ts'

const ofKinds = Object.entries(kinds).flatMap(([name, kind]) =>
  'pattern' in kind ? [[name, kind.pattern] as const] : [],
)
const ofRecords = catalogue.flatMap(({ method, path, query, ...record }) => {
  const folders = Object.values(query).flatMap((param) => (param.within ? [param.within.pattern] : []))
  const files = 'invalidates' in record ? record.invalidates : []
  const conditions = files.flatMap((stale) => (typeof stale === 'string' ? [] : [stale.matches]))
  return [...folders, ...conditions].map((pattern) => [`${method} ${path}`, pattern] as const)
})

t.test('patterns of values are anchored at both ends', async (t) => {
  for (const [name, pattern] of ofKinds) t.match(pattern, /^\^.*\$$/, name)
})

t.test('every pattern matches in linear time', async (t) => {
  const each = new Map([...ofKinds, ...ofRecords].map(([where, pattern]) => [pattern, where]))
  t.ok(each.size > 25, `${each.size} patterns`)
  for (const [pattern, where] of each) {
    const found = checkSync(pattern, '')
    t.equal(found.status, 'safe', `${where}: ${pattern}`)
    t.ok(['linear', 'safe'].includes(found.status === 'safe' ? found.complexity.type : ''), `${where} is linear`)
  }
})

t.test('folder patterns match the listed files and no others', async (t) => {
  const within = (method: string) => {
    const record = catalogue.find((one) => one.method === method && one.path === '/manager/files')
    return new RegExp(record?.query.path?.within?.pattern ?? '^$')
  }
  const rules = ['etc/rules/a.xml', 'etc/rules/sub/.b/c.d.xml', 'etc/decoders/x.xml']
  const lists = ['etc/lists/x', 'etc/lists/amazon/aws-eventnames', 'etc/lists/.hidden']
  const shipped = ['ruleset/rules/0010-rules_config.xml', 'ruleset/decoders/sub/x.xml']
  const refused = [
    ...['', 'etc/client.keys', 'etc/rules', 'etc/rules/', 'etc/rules/.xml.', 'etc/rules/a', 'etc/lists/'],
    ...['etc/rules/../a.xml', 'etc/rules/./a.xml', 'etc/rules/a./b.xml', 'etc/rules/..../b.xml', 'etc/rules//a.xml'],
    ...['/etc/rules/a.xml', 'etc/lists/..', 'etc/lists/.', 'etc/lists/a/../b', 'etc/lists/a\\..\\b', 'etc/ossec.confx'],
    ...['etc/ossecxconf', 'xetc/rules/a.xml', 'etc/rules/a.xml\n', 'ruleset/lists/a', 'etc/rules/a.xml/'],
  ]
  for (const path of [...rules, ...lists, ...shipped, 'etc/ossec.conf']) t.match(path, within('GET'), `read ${path}`)
  for (const path of [...rules, ...lists, 'etc/ossec.conf']) t.match(path, within('POST'), `write ${path}`)
  for (const path of [...rules, ...lists]) t.match(path, within('DELETE'), `delete ${path}`)
  for (const path of refused) t.notMatch(path, within('GET'), `read ${path}`)
  for (const path of [...refused, ...shipped]) t.notMatch(path, within('POST'), `write ${path}`)
  for (const path of [...refused, ...shipped, 'etc/ossec.conf']) t.notMatch(path, within('DELETE'), `delete ${path}`)
})

t.test('a command cannot leave the folder of scripts', async (t) => {
  const command = new RegExp(kinds.command.pattern)
  for (const legal of ['', 'restart-ossec0', '!restart.sh', '!sub/firewall-drop.sh', '/bin/x']) t.match(legal, command)
  for (const wrong of ['!../../bin/sh', '..', 'a b', 'a;b', '!!a', 'a\n', '`a`']) t.notMatch(wrong, command)
})
