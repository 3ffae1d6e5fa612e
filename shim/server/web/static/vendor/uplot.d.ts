import UPlot from "uplot";
export default UPlot;
