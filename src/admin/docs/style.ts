/** System colours follow the reader's choice of light and dark by themselves; contrast is at least 4.5 in both. */
export const style = `:root { color-scheme: light dark; --line: light-dark(#c9c9c9, #4a4a4a); --soft: light-dark(#f3f3f3, #232323);
  --link: light-dark(#0645ad, #8ab4f8); --text: light-dark(#1b1b1b, #e6e6e6); --ground: light-dark(#ffffff, #161616) }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 75rem; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif; color: var(--text);
  background: var(--ground) }
a { color: var(--link) }
a:focus-visible, [tabindex]:focus-visible { outline: 3px solid var(--link); outline-offset: 2px }
.skip { position: absolute; left: -100vw }
.skip:focus { left: 1rem; background: var(--ground); padding: .5rem }
code { font: .9em/1.4 ui-monospace, monospace; overflow-wrap: anywhere }
h2 { margin-top: 3rem; border-bottom: 1px solid var(--line) }
h3 { margin-top: 2rem; scroll-margin-top: 1rem }
nav ul { columns: 14rem; list-style: none; padding: 0 }
.index { list-style: none; padding: 0 }
.method { font: 600 .85em ui-monospace, monospace; padding: .1rem .4rem; border: 1px solid currentColor; border-radius: .2rem }
.get { color: light-dark(#0b5a2b, #7fd6a0) }
.post, .put { color: light-dark(#7a4a00, #f0c070) }
.delete { color: light-dark(#a3001b, #ff9d9d) }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem }
dt { font-weight: 600 }
dd { margin: 0; overflow-wrap: anywhere }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: .95em }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--line) }
pre { overflow-x: auto; background: var(--soft); padding: .7rem; border-radius: .3rem }
pre code { overflow-wrap: normal }
@media (max-width: 40rem) { dl { display: block } dd { margin-bottom: .5rem } body { padding: .6rem } }
@media print { nav, .skip { display: none } }
`
