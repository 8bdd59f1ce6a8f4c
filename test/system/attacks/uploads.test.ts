import t from 'tap'
import { checkList, checkXml } from '../../../src/http/body-contents.ts'
import { measureBestRun } from '../../support/event-loop.ts'

const xml = (text: string) => checkXml(Buffer.from(text))

t.test('comments are accepted as by the manager', async (t) => {
  for (const good of [
    '<!-- a -- b --><a></a>',
    '<!-- x ---><a></a>',
    '<!----><a></a>',
    '<!-- <?php -- ?> --><a></a>',
    '<a><![CDATA[<!--]]><b></b><!-- -- --></a>',
    '<a><!-- <![CDATA[ --></a>',
    '<a><!-- ]]> --><![CDATA[ --> ]]></a>',
  ]) {
    await t.resolves(xml(good), good)
  }
  for (const bad of [
    '<!--><a></a>',
    '<a></a><!-- --',
    '<!-- --><?php ?><a></a>',
    '<a><![CDATA[<!-- ]]><b> --></a>',
    '<!-- <!DOCTYPE a> --><a></a>',
  ]) {
    await t.rejects(xml(bad), { code: 703 }, bad)
  }
})

t.test('an entity is recognised across the border of two slices', async (t) => {
  for (let before = 65_520; before < 65_540; before++) {
    const text = '.'.repeat(before)
    await t.resolves(xml(`<a>${text}&quot;&#x10FFFF;& &x;&</a>`), `behind ${before}`)
    await t.rejects(xml(`<a>${text}&#0000000;</a>`), { code: 703 }, `behind ${before}`)
  }
})

/** CPU milliseconds: the bound of src/core/turns.ts. */
const MAX_TURN_MS = 20

t.test('a large file does not block the event loop', async (t) => {
  const megabyte = 1024 * 1024
  const slow: Readonly<Record<string, () => Promise<void>>> = {
    ampersands: () => xml(`<a>${'&'.repeat(megabyte)}</a>`),
    elements: () => xml(`<a>${'<b></b>'.repeat(megabyte / 7)}</a>`),
    comments: () => xml(`<a>${'<!-- - -->'.repeat(megabyte / 10)}</a>`),
    lines: () => checkList(Buffer.from('a:b\n'.repeat(megabyte))),
    'empty lines': () => checkList(Buffer.from('\n'.repeat(4 * megabyte))),
  }
  for (const [what, check] of Object.entries(slow)) {
    const longest = await measureBestRun(check, MAX_TURN_MS)
    t.ok(longest < MAX_TURN_MS, `${what}: ${longest.toFixed(1)} ms`)
  }
})

t.test('an error in a list names the number of its line', async (t) => {
  await t.rejects(checkList(Buffer.from(`${'a:b\r\n'.repeat(20_000)}c`)), { code: 705, message: /Line 20001: c$/ })
  await t.resolves(checkList(Buffer.from('a:b\n\n  \nc:d')))
})
