/** The style of the page: light and dark, on a phone and on paper. */

const INDENTS = Array.from({ length: 16 }, (_, index) => {
  const indent = (index + 1) * 1.15
  return `.chart [aria-level="${index + 2}"] th{padding-left:${(indent + 1.35).toFixed(2)}rem}.chart [aria-level="${index + 2}"][aria-expanded] th{padding-left:${indent.toFixed(2)}rem}`
}).join('')

export const STYLE = `:root{--paper:#fbfaf7;--card:#fff;--ink:#1d1c1a;--soft:#5f5b54;--line:#e6e2da;--faint:#f3f0ea;--done:#2c7a5a;--bad:#b9332b;--run:#1f66b5;--wait:#7a5cc0;--cut:#a4590d;--idle:#8f897f;--mark:#f6e3b4}
@media (prefers-color-scheme:dark){:root{--paper:#161513;--card:#1f1d1b;--ink:#ece9e3;--soft:#a8a298;--line:#35322d;--faint:#282521;--done:#58b88e;--bad:#f0776d;--run:#6fb1f5;--wait:#b39cf0;--cut:#eda54e;--idle:#777168;--mark:#4d3f1b}}
*{box-sizing:border-box}
html{font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;background:var(--paper);color:var(--ink);-webkit-text-size-adjust:100%;font-variant-numeric:tabular-nums}
body{margin:0 auto;max-width:82rem;padding:2rem 2rem 3rem}
code,pre{font:.86em/1.55 ui-monospace,SFMono-Regular,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}
pre code{font-size:1em}pre{margin:0;white-space:pre-wrap;overflow-wrap:anywhere}
h1{font-size:1.9rem;line-height:1.2;letter-spacing:-.02em;font-weight:650;margin:0;overflow-wrap:anywhere}
h2{font-size:1.05rem;font-weight:650;letter-spacing:-.005em;margin:0 0 .7rem}
h3{font-size:.95rem;margin:0 0 .5rem;overflow-wrap:anywhere}
h4{font-size:.8rem;color:var(--soft);font-weight:600;margin:.8rem 0 .2rem}
small{font-size:.82em;color:var(--soft);font-weight:400}
a{color:inherit;text-decoration-thickness:1px;text-underline-offset:.18em}
i{font-style:normal}
p{margin:0}
section{margin:0 0 2.2rem}
[hidden]{display:none!important}
.sr{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
:focus-visible{outline:2px solid var(--run);outline-offset:2px;border-radius:3px}
header{position:relative;background:var(--card);border:1px solid var(--line);border-radius:10px 0 10px 10px;padding:1.5rem 1.75rem 1.4rem;margin-bottom:2rem;display:grid;grid-template-columns:1fr auto;gap:.1rem 1.5rem}
header::after{content:"";position:absolute;top:-1px;right:-1px;width:30px;height:30px;background:linear-gradient(225deg,var(--paper) 50%,var(--line) 50.5%,var(--faint));border-bottom-left-radius:6px}
.id{grid-column:1/-1;padding-right:1.2rem;color:var(--soft);font-size:.87rem;overflow-wrap:anywhere}
.status{align-self:center;font-weight:600;padding:.22rem .8rem;border-radius:99px;border:1.5px solid currentColor;margin-right:1.2rem;white-space:nowrap}
.status.completed{color:var(--done)}.status.failed,.status.cancelled{color:var(--bad)}.status.running,.status.queued{color:var(--run)}.status.interrupted{color:var(--cut)}.status.pending,.status.paused{color:var(--wait)}
progress{grid-column:1/-1;appearance:none;width:100%;height:5px;border:0;border-radius:3px;overflow:hidden;background:var(--faint);margin:1rem 0 1.1rem}
progress::-webkit-progress-bar{background:var(--faint)}progress::-webkit-progress-value{background:var(--done)}progress::-moz-progress-bar{background:var(--done)}
dl{grid-column:1/-1;display:flex;flex-wrap:wrap;gap:.8rem 2.4rem;margin:0}
dt{font-size:.8rem;color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
.notice{background:var(--mark);border-radius:8px;padding:.7rem 1rem;margin-bottom:1.2rem;white-space:pre-wrap}
.note{color:var(--soft);font-size:.9rem;margin-bottom:1.2rem}
.bad ul{list-style:none;margin:0;padding:0;display:grid;gap:.8rem}
.bad li{border-left:3px solid var(--bad);padding:.1rem 0 .1rem 1rem}
.bad a{font-weight:600}
.bad pre{color:var(--bad);margin-top:.15rem;max-height:14rem;overflow:auto}
.next p{margin:.6rem 0 .3rem}
.copy{display:flex;gap:.6rem;align-items:center;background:var(--faint);border:1px solid var(--line);border-radius:8px;padding:.55rem .6rem .55rem .9rem;width:fit-content;max-width:100%}
button,input,select{font:inherit;font-size:.87rem;color:inherit;background:var(--card);border:1px solid var(--line);border-radius:6px;padding:.22rem .65rem;min-height:2rem}
button{cursor:pointer}button:hover{border-color:var(--soft)}
.head{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:baseline;justify-content:space-between}
.tools{display:flex;flex-wrap:wrap;gap:.4rem;margin-bottom:.6rem}
.chart{--name:clamp(11rem,30%,24rem);--state:10.5rem;--time:5.9rem;position:relative;border-top:1px solid var(--line)}
.chart table,.chart tbody,.chart thead{display:block;width:100%}
.chart tbody{content-visibility:auto;contain-intrinsic-block-size:auto 1900px}
.chart tr{display:grid;grid-template-columns:var(--name) var(--state) var(--time) minmax(0,1fr);min-height:30px;align-items:center;border-bottom:1px solid var(--line);position:relative}
.chart thead{position:sticky;top:0;z-index:2;background:var(--paper)}
.chart thead th{font-size:.8rem;font-weight:500;color:var(--soft);align-self:end;padding-bottom:.3rem}
.chart th,.chart td{text-align:left;font-weight:400;padding:0 .6rem 0 0;min-width:0}
.chart td:nth-child(3){text-align:right;padding-right:1.1rem;color:var(--soft);white-space:nowrap}.chart thead th:nth-child(3){text-align:right;padding-right:1.1rem}
.chart td:last-child,.chart th.axis{padding:0}
.chart tbody th{overflow-wrap:anywhere;padding:.15rem .6rem .15rem 1.35rem}
.chart tr[aria-expanded] th{display:flex;align-items:center;gap:.25rem;padding-left:0}
.chart tbody tr{cursor:default;scroll-margin-top:3rem}
.chart tbody tr:hover{background:color-mix(in srgb,var(--faint) 60%,transparent)}
.chart tbody tr:focus-visible{outline-offset:-2px;z-index:1}
tr[aria-expanded] th span{font-weight:600}
th b{flex:none;width:1.1rem;height:1.4rem;position:relative}
tr[aria-expanded] th b{cursor:pointer}
tr[aria-expanded] th b::before{content:"";position:absolute;left:2px;top:.44rem;border:solid transparent;border-width:.26rem .2rem .26rem .38rem;border-left-color:var(--soft);transform-origin:.22rem .26rem}
tr[aria-expanded=true] th b::before{transform:rotate(90deg)}
.chart tbody td:nth-child(2)::before{display:inline-block;width:1.25em}
.c td:nth-child(2)::before{content:"\\2713";content:"\\2713"/"";color:var(--done)}.f td:nth-child(2)::before{content:"\\2717";content:"\\2717"/""}.r td:nth-child(2)::before{content:"\\26a1\\fe0e";content:"\\26a1\\fe0e"/"";color:var(--run)}.p td:nth-child(2)::before{content:"\\25cc";content:"\\25cc"/"";color:var(--wait)}.n td:nth-child(2)::before{content:"\\25cb";content:"\\25cb"/""}
.f td:nth-child(2){color:var(--bad)}.r td:nth-child(2){color:var(--run)}.n td,.n th{color:var(--soft)}
${INDENTS}
.chart svg{display:block;width:100%;height:29px;overflow:visible}
.chart .axis svg{height:38px}
.axis text{fill:var(--soft);font-size:11.5px}.axis .why{font-size:11px}
rect{y:9px;height:11px;rx:2.5px;fill:var(--done)}
.chart .over{position:absolute;inset:0 0 auto auto;height:100%;pointer-events:none;width:calc(100% - var(--name) - var(--state) - var(--time))!important}
.over rect{y:0;height:100%;rx:0;opacity:.09;fill:var(--idle)}.over .crashed{fill:var(--cut)}.over .failed{fill:var(--bad)}.over .hatch{fill:url(#h);opacity:1}
.over line{stroke:var(--line)}.over .died{fill:url(#k)}.over pattern line{stroke:var(--idle);stroke-width:1.5;opacity:.55}.over #k line{stroke:var(--cut)}
.failed{fill:var(--bad)}.running{fill:var(--run)}.cut{fill:var(--cut)}.interrupted{fill:var(--idle)}.suspended,.submitted{fill:var(--wait)}
.w{fill:var(--wait);opacity:.38;y:12px;height:5px}.d{fill:var(--idle);y:13.5px;height:2px;rx:1px}.o{opacity:.32}.s{fill:var(--idle);opacity:.75;y:12px;height:5px}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.3rem 1.3rem;margin:.8rem 0 0;padding:0;color:var(--soft);font-size:.82rem}
.legend li{display:flex;align-items:center;gap:.45rem}
.legend svg{width:1.5rem;height:29px;margin:-6px 0}
.rest{width:1.1rem;height:.9rem;background:repeating-linear-gradient(-45deg,transparent 0 3px,var(--idle) 3px 4.5px);opacity:.6}.rest.crash{background:repeating-linear-gradient(45deg,transparent 0 3px,var(--cut) 3px 4.5px)}
.chart tr.more{display:block;background:var(--card);padding:1rem 1.2rem 1.1rem}
.chart .more td{display:block;text-align:left!important;color:inherit!important;padding:0!important}
.more ol{list-style:none;margin:.5rem 0 0;padding:0;display:grid;gap:.35rem}
.more li{display:flex;flex-wrap:wrap;gap:0 .9rem}.more li b{font-weight:600;min-width:5.4rem}.more time{color:var(--soft)}
.more pre{flex-basis:100%;background:var(--faint);border-radius:6px;padding:.5rem .75rem;max-height:22rem;overflow:auto;margin-top:.2rem}
.none{color:var(--soft);padding:1rem 0}
.plan{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.8rem 1rem;white-space:pre;overflow-x:auto}
.wide{overflow-x:auto}
.list{border-collapse:collapse;min-width:min(100%,34rem)}
.list th,.list td{text-align:left;vertical-align:top;font-weight:400;padding:.35rem 1.6rem .35rem 0;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
.list thead th{font-size:.8rem;color:var(--soft)}
.moments{list-style:none;margin:0;padding:0}.moments li{display:grid;grid-template-columns:13.5rem 1fr;padding:.12rem 0}.moments time{color:var(--soft)}
footer{color:var(--soft);font-size:.85rem;border-top:1px solid var(--line);padding-top:.9rem}
@media (max-width:640px){
body{padding:.8rem .9rem 2rem}header{padding:1.1rem 1.1rem 1rem;margin-bottom:1.4rem;grid-template-columns:1fr}h1{font-size:1.5rem}.status{justify-self:start;margin:.5rem 0 0}dl{gap:.6rem 1.6rem}
.plan{white-space:pre-wrap;overflow-wrap:anywhere}.plan span+span{display:block;padding-left:16ch;text-indent:-16ch}td small{white-space:nowrap}.l th{grid-column:1/-1}.l td:nth-child(2){grid-column:2}.chart tr{grid-template-columns:minmax(0,1fr) 8.4rem 5.2rem;min-height:46px;padding-top:.2rem}
.chart td:nth-child(2){padding-right:.4rem}.axis text:nth-of-type(even):not(.why),.near{display:none}.chart td:nth-child(3),.chart thead th:nth-child(3){padding-right:0}
.chart td:last-child,.chart th.axis{grid-column:1/-1}
.chart svg{height:18px}.chart .axis svg{height:36px}rect{y:3px}.w,.s{y:6px}.d{y:7.5px}
.chart .over{inset:0;width:100%!important;height:100%}.over>line{display:none}.over pattern line{opacity:.22}.over rect{y:0}.over .hatch{opacity:.45}
.moments li{grid-template-columns:1fr;padding:.3rem 0}
.legend svg{height:18px;margin:0}}
@page{margin:14mm}
@media print{
.near{display:none}.axis text,.axis .why{font-size:8px}:root{--paper:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#ccc;--faint:#f4f4f4;--done:#2c7a5a;--bad:#a3241d;--run:#1f66b5;--wait:#7a5cc0;--cut:#9a540b;--idle:#8a857d;--mark:#f3ead2}
html{font-size:10.5px}body{padding:0;max-width:none}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
.tools,button{display:none!important}.chart tbody{content-visibility:visible}.chart thead{position:static}.chart tr,li,pre{break-inside:avoid}h2{break-after:avoid}.bad pre,.more pre{max-height:none}.plan{white-space:pre-wrap}}
@media (prefers-reduced-motion:no-preference){tr[aria-expanded] th b::before{transition:transform .12s}}
`
