/** config/haproxy.cfg, changed only as docs/installation.md says, and checked with the command that the page and the file name. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { installed } from '../../support/installed.ts'

const read = (name: string) => readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8')

t.test('HAProxy accepts the file, with names and with addresses of replicas', async (t) => {
  const shipped = read('config/haproxy.cfg')
  const [, words = ''] = /`haproxy (-c -f) haproxy\.cfg` checks it/.exec(read('docs/installation.md')) ?? []
  t.equal(words, '-c -f', 'the page names the command')
  const haproxy = installed({ variable: 'HAPROXY', names: ['haproxy'], package: 'haproxy' })
  const cwd = t.testdir()
  const check = (text: string) => {
    writeFileSync(join(cwd, 'haproxy.cfg'), text)
    return spawnSync(haproxy, [...words.split(' '), 'haproxy.cfg'], { cwd, encoding: 'utf8' })
  }
  const withAddresses = shipped.replace(/^( {4}server edge-(\d)) \S+/gm, '$1 192.0.2.$2:55000')
  const ofOneMachine = shipped.replace(/^ {4}server .*\n/gm, '').replace(/^ {4}# (?=server )/gm, '    ')
  for (const [name, text] of Object.entries({ shipped, withAddresses, ofOneMachine })) {
    const { status, stdout, stderr } = check(text)
    t.equal(status, 0, `${name}: ${stdout}${stderr}`)
  }
})
