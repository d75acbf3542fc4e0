// Prompts, their editor, versions and the playground in Chinese.

export default {
  'New prompt': '新建提示词',
  Search: '搜索',
  broken: '有错误',
  '{found} of {all} prompts': '{all} 个提示词中的 {found} 个',
};
