const dark = matchMedia("(prefers-color-scheme: dark)");
const applyScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", applyScheme);
applyScheme();

// Swagger UI shows a closed lock where a key is optional, as if one had been given. A note says
// which operations need a key, and only these have a lock.
function KeyNotes({ React }) {
  const NeedsKey = React.createContext(true);
  const create = React.createElement;
  return {
    wrapComponents: {
      OperationSummary: (Summary) => (props) => {
        const { security } = props.operationProps.toJS();
        const needsKey = security.length > 0 && security.every((way) => Object.keys(way).length);
        return create(NeedsKey.Provider, { value: needsKey }, create(Summary, props));
      },
      authorizeOperationBtn: (Lock) => (props) => {
        const needsKey = React.useContext(NeedsKey);
        const note = create("span", { className: "key-note" }, needsKey ? "key needed" : "no key needed");
        return needsKey ? create(React.Fragment, null, note, create(Lock, props)) : note;
      },
    },
  };
}

SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  validatorUrl: null, // Swagger's own validator is another host
  plugins: [KeyNotes],
});
